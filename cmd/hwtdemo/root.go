package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// streams are where a command reads and writes. The writers must be safe for
// concurrent use, as files are.
type streams struct {
	in  io.Reader
	out *checkedWriter // results
	err io.Writer      // everything else
}

// execute runs the command line args until it ends, or ctx does, and returns the
// exit status.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	s := streams{in: in, out: &checkedWriter{Writer: out}, err: errOut}
	root := newRoot(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err = cmp.Or(err, s.out.failure()); err == nil {
		return statusOK
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(errOut, "hwtdemo: %v\n", err)
	}
	status := statusOf(err)
	if status == statusUsage {
		fmt.Fprintf(errOut, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// newRoot returns the command with its subcommands.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hwtdemo",
		Short: "Shows what the timers of hwt do",
		Long: `hwtdemo shows what timers for very many timeouts do, on real input.

Results go to the standard output, everything else to the standard error. The exit
status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after an
interrupt: Ctrl-C, SIGTERM or SIGHUP. The first interrupt ends a command in order,
the second at once.`,
		Example: `  hwtdemo orders            # a million orders, each with a timeout
  hwtdemo run --example     # fire the schedule of a shop's evening, or your own
  hwtdemo leak              # lose a timer, and see it reported
  hwtdemo idle              # close the idle connections of a real server
  hwtdemo soak --for 10m    # test every engine under load`,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newOrders(s), newRun(s), newLeak(s), newIdle(s), newSoak(s))
	return root
}

// usageArgs makes the errors of check usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
