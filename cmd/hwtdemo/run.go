package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
	"github.com/hashedwheel/hwt/internal/cli"
)

const runHelp = `Runs the schedule in FILE. With - or without FILE, the standard input is read to
its end first. --example runs a shop's evening instead.

The format is CSV. A header names the columns, in any order; id and delay are
required:

  at       when the row acts, after the start; 0 if absent
  op       schedule, cancel or reset; schedule if absent
  id       of the timeout: any name, scheduled once in a file
  delay    schedule and reset: from "at" to the firing of the timeout
  message  schedule: the message to print

"at" and "delay" are durations such as 250ms, 5s or 1m30s. Rows act in the order
of their times, and at the same time in the order of the file.

A timeout that fires prints a line: when, its id, its lateness, its message. A
cancel or reset of an ended timeout is a notice, not an error. A summary goes to
the standard error at the end.

A row is one line of at most 64 KiB. A file has at most 1,000,000 rows and
256 MiB. Blank lines and lines that begin with "# " are skipped; "#1001" is an
id. A bad row is reported as FILE:LINE, the others run, and the exit status is
1. With --strict, a bad row keeps all others from running.

Ctrl-C, SIGTERM and SIGHUP end the run and list the timeouts that remain.`

const runExamples = `  hwtdemo run --example
  printf 'id,delay,message\ntea,3m,Tea is ready\n' | hwtdemo run
  hwtdemo run day.csv`

// runCommand is the command "run".
type runCommand struct {
	streams
	engine  engineFlags
	example bool
	strict  bool
}

// newRun returns the command "run".
func newRun(s streams) *command {
	c := &runCommand{streams: s}
	cmd := newCommand("run", "A schedule from a CSV file", runHelp, runExamples)
	cmd.maxFiles = 1
	cmd.run = c.run
	cmd.flags.BoolVar(&c.example, "example", false, "run the example, which takes 10 seconds")
	cmd.flags.BoolVar(&c.strict, "strict", false, "run nothing if any row is bad")
	c.engine.add(cmd)
	return cmd
}

// run reads the schedule and runs it.
func (c *runCommand) run(ctx context.Context, files []string) error {
	if err := c.engine.check(); err != nil {
		return err
	}
	in, err := c.input(files)
	if err != nil {
		return err
	}
	read, err := in.read(ctx)
	if err != nil {
		return err
	}
	for _, p := range read.Problems {
		fmt.Fprintf(c.err, "%s:%d: %s\n", in.name, p.Line, p.Text)
	}
	if c.strict && len(read.Problems) > 0 {
		return fmt.Errorf("no row was run: %s in %s", cli.Plural(len(read.Problems), "bad row"), in.name)
	}
	return c.fire(ctx, read, in.name)
}

// fire runs the schedule and sums up. It ends early if ctx does, or the output fails.
func (c *runCommand) fire(ctx context.Context, read *schedule.Schedule, input string) error {
	timer, err := c.engine.open("run")
	if err != nil {
		return err
	}
	closePage, err := c.engine.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	running, abort := context.WithCancel(ctx)
	defer abort()
	p := &printer{streams: c.streams, input: input, abort: abort}
	counts, unfired, err := runner.New(timer, read.Rows, p).Run(running)
	if ctx.Err() != nil {
		writeUnfired(c.err, unfired)
	}
	writeSummary(c.err, counts, len(read.Problems), len(unfired))
	switch {
	case counts.Early > 0:
		return fmt.Errorf("%s fired early", cli.Plural(counts.Early, "timeout"))
	case ctx.Err() != nil:
		return errInterrupted
	case len(read.Problems) > 0:
		return cmp.Or(err, c.out.failure(), errFailed)
	}
	return err
}

// example is the schedule of --example.
//
//go:embed testdata/shop-day.csv
var example []byte

// input is the source of a schedule.
type input struct {
	name string // for messages
	open func() (io.ReadCloser, error)
}

// input returns the input that the command line names.
func (c *runCommand) input(files []string) (*input, error) {
	switch {
	case c.example && len(files) > 0:
		return nil, usageError{errors.New("--example: does not go with FILE")}
	case c.example:
		return &input{"example", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(example)), nil }}, nil
	case len(files) > 0 && files[0] != "-":
		return &input{files[0], func() (io.ReadCloser, error) { return os.Open(files[0]) }}, nil
	}
	return &input{"stdin", c.openStdin}, nil
}

// openStdin announces that it waits if the user might not know.
func (c *runCommand) openStdin() (io.ReadCloser, error) {
	if cli.IsTerminal(c.in) {
		fmt.Fprintln(c.err, "hwtdemo: reading a schedule from the terminal; end it with Ctrl-D")
	}
	return io.NopCloser(c.in), nil
}

// read reads the schedule, unless ctx ends before: an input may never come, and nobody
// may write to a FIFO.
func (in *input) read(ctx context.Context) (read *schedule.Schedule, err error) {
	done := make(chan struct{})
	var all *schedule.Schedule
	var failed error
	go func() {
		defer close(done)
		all, failed = in.readAll()
	}()
	select {
	case <-done:
		return all, in.named(failed)
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
	return schedule.Read(r, schedule.DefaultLimits)
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
