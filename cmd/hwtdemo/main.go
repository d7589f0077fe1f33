// Command hwtdemo demonstrates the timers of hwt: a shop with a million orders, and a test
// under load. Try
//
//	go run ./cmd/hwtdemo orders
//	go run ./cmd/hwtdemo -help
//
// Results go to the standard output, everything else to the standard error. The exit
// status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after an
// interrupt.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // as shells report a program that Ctrl-C ended
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// errInterrupted decides the exit status only. The command has written a report.
var errInterrupted = errors.New("interrupted")

const help = `hwtdemo demonstrates the timers of hwt, and tests them under load.

Usage: hwtdemo COMMAND [flags]

Commands:
  orders   A million orders, each with a check that most payments cancel
  soak     Every engine under heavy load: no timeout may be lost

Results go to the standard output, everything else to the standard error. The
exit status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after
an interrupt: Ctrl-C or SIGTERM. The first interrupt ends a command gracefully,
the second immediately.

Examples:
  hwtdemo orders           # a million orders, each with a timeout
  hwtdemo soak -for 10m    # test every engine under load
  hwtdemo orders -help     # the flags of a command
`

// command is a command of hwtdemo.
type command struct {
	help  string // before the flags, with examples
	flags *flag.FlagSet
	run   func(ctx context.Context, errOut io.Writer) (report, error)
	json  bool
}

// newCommand returns a command with the flag -json.
func newCommand(name, help string) *command {
	c := &command{help: help, flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	c.flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	return c
}

// report is the result of a command.
type report interface {
	Text() string // for people
	Err() error   // the broken promises of the timer, or nil
}

// execute runs the command line args until it ends, or ctx does, and returns the exit
// status. Both writers must be safe for concurrent use, as files are.
func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	path, err := dispatch(ctx, args, out, errOut)
	switch {
	case err == nil:
		return statusOK
	case err == errInterrupted:
		return statusInterrupted
	}
	fmt.Fprintf(errOut, "hwtdemo: %v\n", err)
	if errors.As(err, new(usageError)) {
		fmt.Fprintf(errOut, "See '%s -help'.\n", path)
		return statusUsage
	}
	return statusFailed
}

// dispatch runs the command that args name. path names it for messages.
func dispatch(ctx context.Context, args []string, out, errOut io.Writer) (path string, err error) {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		return "hwtdemo", write(out, help)
	}
	switch args[0] {
	case "orders":
		err = newOrders().execute(ctx, args[1:], out, errOut)
	case "soak":
		err = newSoak().execute(ctx, args[1:], out, errOut)
	default:
		return "hwtdemo", usageError{fmt.Errorf("unknown command %q (expected: orders or soak)", args[0])}
	}
	return "hwtdemo " + args[0], err
}

// execute parses the flags, and runs the command or writes its help.
func (c *command) execute(ctx context.Context, args []string, out, errOut io.Writer) error {
	switch err := c.flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		var flags strings.Builder
		c.flags.SetOutput(&flags)
		c.flags.PrintDefaults()
		return write(out, c.help+"\nFlags:\n"+flags.String())
	case err != nil:
		return usageError{err}
	case c.flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q", c.flags.Arg(0))}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // A second interrupt ends the process.
	r, err := c.run(ctx, errOut)
	if err != nil {
		return err
	}
	return c.conclude(out, r, ctx.Err() != nil)
}

// conclude writes a report and returns the error with which the command ends.
func (c *command) conclude(out io.Writer, r report, interrupted bool) error {
	text := r.Text()
	if c.json {
		object, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		text = string(object) + "\n"
	}
	if err := write(out, text); err != nil {
		return err
	}
	if err := r.Err(); err != nil || !interrupted {
		return err
	}
	return errInterrupted
}

func write(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
