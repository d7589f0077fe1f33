// Command hwtdemo demonstrates the timers of hwt: a shop with a million orders, and a test
// under load. Try
//
//	go run ./cmd/hwtdemo orders
//	go run ./cmd/hwtdemo --help
//
// Results go to the standard output, everything else to the standard error. The exit
// status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after an
// interrupt.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// streams are the outputs of a command. The writers must be safe for concurrent use, as
// files are.
type streams struct {
	out *checkedWriter // results
	err io.Writer      // everything else
}

// execute runs the command line args until it ends, or ctx does, and returns the exit
// status.
func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	s := streams{out: &checkedWriter{Writer: out}, err: errOut}
	path, err := dispatch(ctx, args, s)
	err = cmp.Or(err, s.out.failure())
	if err == nil {
		return statusOK
	}
	if err == errInterrupted {
		return statusOf(err)
	}
	fmt.Fprintf(errOut, "hwtdemo: %v\n", err)
	if statusOf(err) == statusUsage {
		fmt.Fprintf(errOut, "See '%s --help'.\n", path)
	}
	return statusOf(err)
}

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	switch {
	case err == nil:
		return statusOK
	case err == errInterrupted:
		return statusInterrupted
	case errors.As(err, new(usageError)):
		return statusUsage
	}
	return statusFailed
}
