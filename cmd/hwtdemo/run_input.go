package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// read reads the schedule that args name. An interrupt ends the waiting for an
// input that does not come.
func (c *runCommand) read(ctx context.Context, args []string) (*schedule.Schedule, error) {
	input, err := c.openInput(args)
	if err != nil {
		return nil, err
	}
	type result struct {
		schedule *schedule.Schedule
		err      error
	}
	results := make(chan result, 1)
	go func() {
		defer input.Close()
		s, err := schedule.Read(input, c.format, schedule.DefaultLimits)
		results <- result{s, err}
	}()
	select {
	case r := <-results:
		return r.schedule, c.inInput(r.err)
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

// openInput opens the input and settles its name and format.
func (c *runCommand) openInput(args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		return c.openStandardInput(), nil
	}
	c.name = args[0]
	if c.format == "" {
		c.format = schedule.FormatOf(c.name)
	}
	return os.Open(c.name)
}

// openStandardInput says that it waits if somebody might not know.
func (c *runCommand) openStandardInput() io.ReadCloser {
	c.name = "stdin"
	if c.format == "" {
		c.format = schedule.CSV
	}
	if isTerminal(c.in) {
		fmt.Fprintln(c.err, "hwtdemo: reading a schedule from the terminal; end it with Ctrl-D")
	}
	return io.NopCloser(c.in)
}

// inInput puts the name of the input, and the line if there is one, before err.
func (c *runCommand) inInput(err error) error {
	if err == nil {
		return nil
	}
	if at, ok := errors.AsType[*schedule.FileError](err); ok {
		return fmt.Errorf("%s:%d: %w", c.name, at.Line, at.Err)
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return err // it names the file
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// complain reports the bad rows.
func (c *runCommand) complain(problems []schedule.Problem) {
	for _, p := range problems {
		fmt.Fprintf(c.err, "%s:%d: %s\n", c.name, p.Line, p.Text)
	}
}
