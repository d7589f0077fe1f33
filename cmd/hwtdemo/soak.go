package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
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

After each round every accepted timeout must have ended in exactly one way:
accepted = expired + cancelled + unprocessed. During a round no more may have
ended than were accepted. Under random, the answers of NewTimeouts, All,
Deadline and Shutdown are checked, and the contexts of tasks. Lateness is a
fault only under rate and resets, and only if the machine does not explain it.
At the end, heap and goroutines must be back at their values after the first
rounds. If anything is wrong, the exit status is 1. Ctrl-C ends the soak early,
with a report.`

const soakExamples = `  hwtdemo soak                            # a minute
  hwtdemo soak --for 10m --engine hashed  # longer, one engine
  hwtdemo soak --json | jq .violations    # the report for programs`

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
	streams
	config soak.Config
	engine string
	load   soak.Load
	page   pageServer
	json   bool
}

// newSoak returns the command "soak".
func newSoak(s streams) *command {
	c := &soakCommand{streams: s, engine: all, load: all, config: soak.Config{For: time.Minute, Round: soakRound, Callers: 4, Seed: 1}}
	cmd := newCommand("soak", "Every engine under heavy load: nothing may be lost", soakHelp, soakExamples)
	cmd.run = c.run
	cmd.flags.Var(duration(&c.config.For, minSoak, maxSoak), "for", "length of the soak")
	cmd.flags.Var(choice[string]{&c.engine, []string{all, nameHashed, nameHierarchical, nameRuntime}}, "engine",
		"the timer: hashed, hierarchical, runtime, or all in turn")
	cmd.flags.Var(choice[soak.Load]{&c.load, append([]soak.Load{all}, soak.Loads...)}, "load",
		"random, rate, resets, or all in turn")
	cmd.flags.Var(number(&c.config.Callers, 1, maxCallers), "callers", "goroutines that use a timer")
	cmd.flags.Var(seed(&c.config.Seed), "seed", "seed of the random numbers")
	cmd.flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	c.page.add(cmd)
	return cmd
}

// choose fills in the engines and the load that the flags name.
func (c *soakCommand) choose() error {
	if c.load != all {
		c.config.Load = c.load
	}
	for _, e := range soak.Engines {
		if (c.engine == all || c.engine == e.Name) && (c.load == all || c.load == soak.Random || e.Worker) {
			c.config.Engines = append(c.config.Engines, c.shown(e))
		}
	}
	if c.config.Engines == nil {
		return usageError{fmt.Errorf("--load %s: is for --engine hashed and hierarchical", c.load)}
	}
	return nil
}

// shown returns an engine whose most recent timer is on the page.
func (c *soakCommand) shown(e soak.Engine) soak.Engine {
	open := e.New
	e.New = func(o soak.Options) (hwt.Engine, error) {
		timer, err := open(o)
		if err == nil {
			c.page.show(e.Name, timer)
		}
		return timer, err
	}
	return e
}

// run soaks and reports.
func (c *soakCommand) run(ctx context.Context) error {
	if err := c.choose(); err != nil {
		return err
	}
	closePage, err := c.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	s := soak.New(c.config)
	stop := cli.Follow(c.err, soakLineEvery, func() string { return soakStatus(s.Progress()) })
	report, err := s.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	return conclude(c.out, report, c.json, report.Interrupted)
}

// soakLineEvery is the time between two lines of progress: a soak may take days.
const soakLineEvery = 5 * time.Second

func soakStatus(p soak.Progress) string {
	return fmt.Sprintf("rounds %s  operations %s  violations %d",
		cli.Count(p.Rounds), cli.Count(p.Operations), p.Violations)
}
