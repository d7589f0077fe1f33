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

const leakHelp = `Loses a timer on purpose: makes one, uses it, drops it without Stop, and collects
garbage. The leak detector reports where the timer was made, and the timer's worker
goroutine ends. If either does not happen within ten seconds, the exit status is 1.

Your program would find the report in its log. From level advanced on, it also shows
the recent uses of the timer.`

// leakPatience is how long to wait for the collector.
const leakPatience = 10 * time.Second

// newLeak returns the command "leak".
func newLeak(s streams) *cobra.Command {
	level := "simple"
	cmd := &cobra.Command{
		Use:   "leak",
		Short: "Lose a timer on purpose, and see it reported",
		Long:  leakHelp,
		Example: `  hwtdemo leak
  hwtdemo leak --level advanced`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			parsed, err := leak.ParseLevel(level)
			if err != nil {
				return err
			}
			defer leak.SetLevel(leak.SetLevel(parsed))
			return loseTimer(cmd.Context(), s.out)
		},
	}
	cmd.Flags().Var(choice[string]{&level, "level", []string{"simple", "advanced", "paranoid"}}, "level",
		"how much the leak detector records: simple, advanced or paranoid")
	return cmd
}

// loseTimer loses a timer and reports what happened.
func loseTimer(ctx context.Context, out io.Writer) error {
	ctx, release := interruptible(ctx, func() {})
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
	fmt.Fprintf(out, "A timer was made, used and dropped without Stop. Then the log said:\n\n%s\n", result.Report)
	fmt.Fprintf(out, "Goroutines: %d before, %d with the timer's worker, %d after it was collected.\n",
		result.Before, result.While, result.After)
	return nil
}
