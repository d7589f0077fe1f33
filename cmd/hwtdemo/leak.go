package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/leaky"
	"github.com/hashedwheel/hwt/leak"
)

const leakHelp = `Loses a timer on purpose: makes one, uses it, drops it without Stop, and has the
garbage collected. The leak detector then reports where the timer was made, and
the worker goroutine that nobody stopped ends by itself. If the report does not
come, or the worker stays, within ten seconds, the exit status is 1.

The report here is what your program would find on its log. From level advanced
on it also shows the recent uses of the timer.`

// leakPatience is how long to wait for the collector.
const leakPatience = 10 * time.Second

// newLeak returns the command "leak".
func newLeak(s streams) *cobra.Command {
	level := levelFlag(leak.Simple)
	cmd := &cobra.Command{
		Use:   "leak",
		Short: "Lose a timer on purpose, and see it reported and its worker end",
		Long:  leakHelp,
		Example: `  hwtdemo leak
  hwtdemo leak --level advanced`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer leak.SetLevel(leak.SetLevel(leak.Level(level)))
			return loseTimer(cmd.Context(), s.out)
		},
	}
	cmd.Flags().Var(&level, "level", "how much the leak detector records: simple, advanced or paranoid")
	return cmd
}

// loseTimer loses a timer and tells what came of it.
func loseTimer(ctx context.Context, out io.Writer) error {
	ctx, release := interruptible(ctx)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, leakPatience)
	defer cancel()
	result, err := leaky.Lose(ctx)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A timer was made, used and dropped without Stop. The log then said:\n\n%s\n", result.Report)
	fmt.Fprintf(out, "Goroutines: %d before, %d with the timer's worker, %d after it was collected.\n",
		result.Before, result.While, result.After)
	return nil
}

// levelFlag is a flag for a leak detection level that reports something.
type levelFlag leak.Level

// String returns the level's name.
func (f *levelFlag) String() string { return leak.Level(*f).String() }

// Type returns the kind of value.
func (f *levelFlag) Type() string { return "level" }

// Set parses text.
func (f *levelFlag) Set(text string) error {
	level, err := leak.ParseLevel(text)
	if err != nil || level == leak.Disabled {
		return errors.New("must be simple, advanced or paranoid")
	}
	*f = levelFlag(level)
	return nil
}
