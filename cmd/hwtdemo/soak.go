package main

import (
	"context"
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
  hwtdemo soak -json | jq .violations   # the report for programs
`

// Ranges of the flags, and the life of a timer.
const (
	minSoak    = 100 * time.Millisecond
	maxSoak    = 30 * 24 * time.Hour
	soakRound  = 250 * time.Millisecond
	maxCallers = 1024
)

// all selects every engine.
const all = "all"

// soakCommand is the command "soak".
type soakCommand struct {
	*command
	config soak.Config
	engine string
}

// newSoak returns the command "soak".
func newSoak() *command {
	c := &soakCommand{command: newCommand("soak", soakHelp), engine: all,
		config: soak.Config{For: time.Minute, Round: soakRound, Callers: 4, Seed: 1}}
	c.command.run = c.run
	duration(c.flags, &c.config.For, minSoak, maxSoak, "for", "`duration` of the soak")
	c.flags.Var(choice{&c.engine, append(engines.Names(), all)}, "engine", "`name`: hashed, hierarchical, runtime, or all in turn")
	number(c.flags, &c.config.Callers, 1, maxCallers, "callers", "`number` of goroutines that use a timer")
	seed(c.flags, &c.config.Seed)
	return c.command
}

// run soaks.
func (c *soakCommand) run(ctx context.Context, errOut io.Writer) (report, error) {
	c.config.Engines = engines.All
	if c.engine != all {
		c.config.Engines = []engines.Engine{engines.Named(c.engine)}
	}
	s := soak.New(c.config)
	stop := cli.Follow(errOut, soakLineEvery, func() string { return soakStatus(s.Progress()) })
	defer stop()
	return s.Run(ctx)
}

// soakLineEvery is the time between two lines of progress: a soak may take days.
const soakLineEvery = 5 * time.Second

func soakStatus(p soak.Progress) string {
	return fmt.Sprintf("rounds %s  operations %s  violations %d",
		cli.Count(p.Rounds), cli.Count(p.Operations), p.Violations)
}
