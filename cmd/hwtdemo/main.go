// Command hwtdemo demonstrates the timers of hwt: a shop with a million orders, a
// schedule from a file, and a test under load. Try
//
//	go run ./cmd/hwtdemo orders
//	go run ./cmd/hwtdemo run --example
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
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
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

// Errors that decide the exit status only. Their commands have written the details.
var (
	errFailed      = errors.New("failed")
	errInterrupted = errors.New("interrupted")
)

// streams are the inputs and outputs of a command. The writers must be safe for
// concurrent use, as files are.
type streams struct {
	in  io.Reader
	out *checkedWriter // results
	err io.Writer      // everything else
}

// execute runs the command line args until it ends, or ctx does, and returns the exit
// status.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	s := streams{in: in, out: &checkedWriter{Writer: out}, err: errOut}
	path, err := dispatch(ctx, args, s)
	err = cmp.Or(err, s.out.failure())
	if err == nil {
		return statusOK
	}
	if err == errFailed || err == errInterrupted {
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
