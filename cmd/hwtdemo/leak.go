package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/leaky"
	"github.com/hashedwheel/hwt/leak"
)

const leakHelp = `Loses a timer on purpose: creates one, uses it, drops it without Stop, and
collects garbage. The leak detector reports where the timer was created, and the
timer's worker goroutine ends. If either does not happen within ten seconds, the
exit status is 1.

Your program would find the report in its log. From level advanced on, the
report also shows the recent uses of the timer.`

const leakExamples = `  hwtdemo leak
  hwtdemo leak --level advanced`

// leakPatience bounds the wait for the collector.
const leakPatience = 10 * time.Second

// newLeak returns the command "leak".
func newLeak(s streams) *command {
	level := "simple"
	cmd := newCommand("leak", "Lose a timer on purpose, and see it reported", leakHelp, leakExamples)
	cmd.flags.Var(choice[string]{&level, []string{"simple", "advanced", "paranoid"}}, "level",
		"effort of the leak detector: simple, advanced or paranoid")
	cmd.run = func(ctx context.Context, _ []string) error {
		parsed, err := leak.ParseLevel(level)
		if err != nil {
			return err
		}
		defer leak.SetLevel(leak.SetLevel(parsed))
		return loseTimer(ctx, s.out)
	}
	return cmd
}

// loseTimer loses a timer and reports the outcome.
func loseTimer(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, leakPatience)
	defer cancel()
	result, err := leaky.Lose(ctx)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A timer was created, used and dropped without Stop. Then the log said:\n\n%s\n", result.Report)
	fmt.Fprintf(out, "Goroutines: %d before, %d with the timer's worker, %d after its collection.\n",
		result.Before, result.While, result.After)
	return nil
}
