package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// streams are where a command reads and writes. Like files, the writers must be
// safe for concurrent use.
type streams struct {
	in  io.Reader
	out io.Writer // results
	err io.Writer // everything else
}

// execute runs the command line args and returns the exit status.
func execute(args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return statusOK
	}
	report(s.err, cmd, err)
	return statusOf(err)
}

// report writes err to w, and where to find help if the usage was wrong.
func report(w io.Writer, cmd *cobra.Command, err error) {
	if errors.Is(err, errSilent) {
		return
	}
	fmt.Fprintf(w, "hwtdemo: %v\n", err)
	if statusOf(err) == statusUsage {
		fmt.Fprintf(w, "See '%s --help'.\n", cmd.CommandPath())
	}
}

// newRoot returns the command with all its subcommands.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hwtdemo",
		Short: "Shows what hwt's timers do",
		Long: `hwtdemo shows what a timer made for very many timeouts does, on real input.

Results go to the standard output, everything else to the standard error.
The exit status is 0 if all went well, 1 if something failed, 2 if the command
was used wrongly, and 130 if it was interrupted (Ctrl-C or SIGTERM).`,
		Example: `  hwtdemo orders                        # a million orders with a check each
  hwtdemo run testdata/shop-day.csv     # fire a schedule of your own
  hwtdemo leak                          # lose a timer, and see it found
  hwtdemo idle                          # close idle connections of a real server
  hwtdemo soak --for 10m                # everything at random, every engine`,
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

// usageArgs makes what check complains of an error of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
