package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
	"github.com/hashedwheel/hwt/internal/cli"
)

const soakHelp = `Runs the engines under heavy load and checks that no timeout is lost, repeated
or early. Timers are created, used by several goroutines, and stopped, round
after round. All operations come in random order; tasks fail, panic, block and
stop their timer; an executor rejects, panics and drops tasks.

Usage: hwtdemo soak [flags]

After each round every accepted timeout must have ended in exactly one way:
accepted = expired + cancelled + unprocessed. During a round no more may have
ended than were accepted. The answers of NewTimeouts, All, Deadline and Shutdown
are checked, and the contexts of tasks. At the end, heap and goroutines must be
back at their values after the first rounds. If anything is wrong, the exit
status is 1. Ctrl-C ends the soak early, with a report.

Examples:
  hwtdemo soak                          # a minute
  hwtdemo soak -for 10m -engine hashed  # longer, one engine
`

// Ranges of the flags, the life of a timer, and the time between two lines of progress: a soak
// may take days.
const (
	minSoak       = 100 * time.Millisecond
	maxSoak       = 30 * 24 * time.Hour
	soakRound     = 250 * time.Millisecond
	soakLineEvery = 5 * time.Second
)

// newSoak returns the command "soak".
func newSoak(flags *flag.FlagSet) command {
	c := soak.Config{Engines: engines.All, Round: soakRound, Callers: 4}
	flags.DurationVar(&c.For, "for", time.Minute, "`duration` of the soak")
	flags.Uint64Var(&c.Seed, "seed", 1, "`number` that determines the random numbers")
	engine := flags.String("engine", "all", "`name`: hashed, hierarchical, runtime, or all in turn")
	check := func() error {
		if *engine != "all" {
			e, err := engines.Named(*engine)
			if err != nil {
				return fmt.Errorf("%w, or all", err)
			}
			c.Engines = []engines.Engine{e}
		}
		return within("for", c.For, minSoak, maxSoak)
	}
	return command{soakHelp, check, func(ctx context.Context, errOut io.Writer) (report, error) {
		s := soak.New(c)
		stop := cli.Follow(errOut, soakLineEvery, func() string { return soakStatus(s.Progress()) })
		defer stop()
		return s.Run(ctx)
	}}
}

func soakStatus(p soak.Progress) string {
	return fmt.Sprintf("rounds %s  operations %s  violations %d",
		cli.Count(p.Rounds), cli.Count(p.Operations), p.Violations)
}
