package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
	"github.com/hashedwheel/hwt/internal/cli"
)

const soakHelp = `Runs the engines under heavy load and checks that no timeout is lost, repeated
or early. Timers are created, used by several goroutines, and stopped, round
after round, under one of three loads:

  random  all operations in random order; tasks fail, panic, block and stop
          their timer; an executor rejects, panics and drops tasks
  rate    a steady rate; more per tick than one drain moves
  resets  resets as fast as possible, while other timeouts are reset to earlier

Usage: hwtdemo soak [flags]

After each round every accepted timeout must have ended in exactly one way:
accepted = expired + cancelled + unprocessed. During a round no more may have
ended than were accepted. Under random, the answers of NewTimeouts, All,
Deadline and Shutdown are checked, and the contexts of tasks. Lateness is a
fault only under rate and resets, and only if the machine does not explain it.
At the end, heap and goroutines must be back at their values after the first
rounds. If anything is wrong, the exit status is 1. Ctrl-C ends the soak early,
with a report.

Examples:
  hwtdemo soak                          # a minute
  hwtdemo soak -for 10m -engine hashed  # longer, one engine
  hwtdemo soak -json | jq .violations   # the report for programs
`

// Ranges of the flags, and the life of the timer of a random round.
const (
	minSoak    = 100 * time.Millisecond
	maxSoak    = 30 * 24 * time.Hour
	soakRound  = 250 * time.Millisecond
	maxCallers = 1024
)

// all selects every engine, or every load.
const all = "all"

// soakCommand is the command "soak".
type soakCommand struct {
	*command
	config soak.Config
	engine string
	load   soak.Load
}

// newSoak returns the command "soak".
func newSoak() *command {
	c := &soakCommand{command: newCommand("soak", soakHelp), engine: all, load: all,
		config: soak.Config{For: time.Minute, Round: soakRound, Callers: 4, Seed: 1}}
	c.command.run = c.run
	duration(c.flags, &c.config.For, minSoak, maxSoak, "for", "`duration` of the soak")
	c.flags.Var(choice[string]{&c.engine, append(engines.Names(), all)}, "engine", "`name`: hashed, hierarchical, runtime, or all in turn")
	c.flags.Var(choice[soak.Load]{&c.load, append(slices.Clip(soak.Loads), all)}, "load", "`name`: random, rate, resets, or all in turn")
	number(c.flags, &c.config.Callers, 1, maxCallers, "callers", "`number` of goroutines that use a timer")
	seed(c.flags, &c.config.Seed)
	return c.command
}

// choose fills in the engines and the load that the flags name.
func (c *soakCommand) choose() error {
	if c.load != all {
		c.config.Load = c.load
	}
	for _, e := range engines.All {
		if (c.engine == all || c.engine == e.Name) && (c.load == all || c.load == soak.Random || e.Wheel > 0) {
			c.config.Engines = append(c.config.Engines, e)
		}
	}
	if c.config.Engines == nil {
		return usageError{fmt.Errorf("-load %s: is for -engine hashed and hierarchical", c.load)}
	}
	return nil
}

// run soaks.
func (c *soakCommand) run(ctx context.Context, errOut io.Writer) (report, error) {
	if err := c.choose(); err != nil {
		return nil, err
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
