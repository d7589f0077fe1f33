package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"github.com/hashedwheel/hwt/internal/cli"
	"io"
	"os"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// example is the schedule of --example.
//
//go:embed testdata/shop-day.csv
var example []byte

// input is where a schedule comes from.
type input struct {
	name   string // for messages
	format schedule.Format
	open   func() (io.ReadCloser, error)
}

// input returns the input that the flags and args name.
func (c *runCommand) input(args []string) (*input, error) {
	if c.example {
		if len(args) > 0 || c.format != "" {
			return nil, usageError{errors.New("--example: does not go with FILE or --format")}
		}
		return &input{name: "example", format: schedule.CSV, open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(example)), nil
		}}, nil
	}
	in := &input{name: "stdin", open: c.openStdin}
	if len(args) > 0 && args[0] != "-" {
		in.name = args[0]
		in.open = func() (io.ReadCloser, error) { return os.Open(in.name) }
	}
	in.format = cmp.Or(c.format, schedule.FormatOf(in.name))
	return in, nil
}

// openStdin announces that it waits if the user might not know.
func (c *runCommand) openStdin() (io.ReadCloser, error) {
	if cli.IsTerminal(c.in) {
		fmt.Fprintln(c.err, "hwtdemo: reading a schedule from the terminal; end it with Ctrl-D")
	}
	return io.NopCloser(c.in), nil
}

// read reads the schedule, unless ctx ends before. It does not wait for an input
// that does not come, nor for a FIFO that no process writes to.
func (in *input) read(ctx context.Context) (*schedule.Schedule, error) {
	var read *schedule.Schedule
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		read, failed = in.readAll()
	}()
	select {
	case <-done:
		return read, in.named(failed)
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

// readAll opens and reads the input.
func (in *input) readAll() (*schedule.Schedule, error) {
	r, err := in.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return schedule.Read(r, in.format, schedule.DefaultLimits)
}

// named adds the name of the input to err, and the line if there is one.
func (in *input) named(err error) error {
	var at schedule.Problem
	switch {
	case err == nil || errors.As(err, new(*os.PathError)): // which has the name
		return err
	case errors.As(err, &at):
		return fmt.Errorf("%s:%d: %s", in.name, at.Line, at.Text)
	}
	return fmt.Errorf("%s: %w", in.name, err)
}
