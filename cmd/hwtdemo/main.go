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
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second interrupt ends the process.
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // as shells report a program that Ctrl-C ended
)

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

// command is a command of hwtdemo. Before run, check returns an error for wrong flags.
type command struct {
	help  string // before the flags, with examples
	check func() error
	run   func(ctx context.Context, errOut io.Writer) (report, error)
}

// report is the result of a command.
type report interface {
	Text() string // for people
	Err() error   // the broken promises of the timer, or nil
}

// execute runs the command line args until it ends, or ctx does, and returns the exit
// status. Both writers must be safe for concurrent use, as files are.
func execute(ctx context.Context, args []string, out, errOut io.Writer) (status int) {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("hwtdemo "+name, flag.ContinueOnError)
	flags.SetOutput(errOut)
	var c command
	switch name {
	case "orders":
		c = newOrders(flags)
	case "soak":
		c = newSoak(flags)
	case "help", "-h", "-help", "--help":
		return fail(errOut, write(out, help), statusFailed)
	default:
		return fail(errOut, fmt.Errorf("unknown command %q (expected: orders or soak)", name), statusUsage)
	}
	flags.Usage = func() {
		fmt.Fprintf(errOut, "%s\nFlags:\n", c.help)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return statusOK
	case err != nil:
		return statusUsage
	case flags.NArg() > 0:
		return fail(errOut, fmt.Errorf("unexpected argument %q", flags.Arg(0)), statusUsage)
	}
	if err := c.check(); err != nil {
		return fail(errOut, err, statusUsage)
	}
	return c.conclude(ctx, out, errOut)
}

// conclude runs the command, and writes its report.
func (c command) conclude(ctx context.Context, out, errOut io.Writer) (status int) {
	r, err := c.run(ctx, errOut)
	if err == nil {
		if err = write(out, r.Text()); err == nil {
			err = r.Err()
		}
	}
	if err == nil && ctx.Err() != nil {
		return statusInterrupted
	}
	return fail(errOut, err, statusFailed)
}

// fail reports an error, and returns the status for it, or statusOK without one.
func fail(errOut io.Writer, err error, status int) int {
	if err == nil {
		return statusOK
	}
	fmt.Fprintf(errOut, "hwtdemo: %v\n", err)
	return status
}

func write(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// within returns an error that names a flag whose value is out of its range.
func within[T cmp.Ordered](name string, value, least, most T) error {
	if least <= value && value <= most {
		return nil
	}
	return fmt.Errorf("-%s: %v (expected: %v to %v)", name, value, least, most)
}
