package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

const soakHelp = `Puts every engine under everything at once: timers are made, used by several
goroutines at random, and stopped, round after round. Tasks fail, panic, end
their goroutine, schedule themselves again, cancel, and stop their timer; in one
round of three an executor refuses, panics, blocks, and runs tasks late.

After each round every accepted timeout must have ended in exactly one way
(accepted = expired + cancelled + unprocessed), and none may have run early; in
the middle of it, looked at every millisecond, no more may have ended than were
accepted. How late the latest task was is told, and is no fault: some tasks are
slow on purpose. At the end heap and goroutines must be back where they were after the first round.
If anything is wrong, the exit status is 1. Ctrl-C ends it early, with a result.`

// Ranges of the flags, and how long a timer lives.
const (
	minSoak    = 100 * time.Millisecond
	maxSoak    = 30 * 24 * time.Hour
	soakRound  = 250 * time.Millisecond
	maxCallers = 1024
)

// soakCommand is the command "soak".
type soakCommand struct {
	streams
	config soak.Config
	engine string
	json   bool
}

// newSoak returns the command "soak".
func newSoak(s streams) *cobra.Command {
	c := &soakCommand{streams: s, config: soak.Config{For: time.Minute, Round: soakRound, Callers: 4, Seed: 1}}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Put every engine under everything at random, and check that nothing is lost",
		Long:  soakHelp,
		Example: `  hwtdemo soak                            # a minute
  hwtdemo soak --for 10m --engine hashed  # longer, one engine
  hwtdemo soak --json | jq .violations    # the report for programs`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(duration(&c.config.For, minSoak, maxSoak), "for", "how long")
	flags.StringVar(&c.engine, "engine", "all", "the timer: hashed, hierarchical, runtime, or all in turn")
	flags.Var(number(&c.config.Callers, 1, maxCallers), "callers", "goroutines that use a timer at once")
	flags.Var(seed(&c.config.Seed), "seed", "seed of what is done")
	flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	return cmd
}

// soaked are the engines.
var soaked = []soak.Engine{
	{Name: string(kindHashed), Open: func(p soak.Parts) (soak.Timer, error) {
		return hashedwheel.New(append(with(p, hashedwheel.WithExecutor),
			hashedwheel.WithErrorHandler(p.OnError), hashedwheel.WithLogger(p.Logger), hashedwheel.WithTickDuration(time.Millisecond))...)
	}},
	{Name: string(kindHierarchical), Open: func(p soak.Parts) (soak.Timer, error) {
		return hierarchical.New(append(with(p, hierarchical.WithExecutor),
			hierarchical.WithErrorHandler(p.OnError), hierarchical.WithLogger(p.Logger), hierarchical.WithTickDuration(time.Millisecond))...)
	}},
	{Name: string(kindRuntime), Open: func(p soak.Parts) (soak.Timer, error) {
		return runtimetimer.New(append(with(p, runtimetimer.WithExecutor),
			runtimetimer.WithErrorHandler(p.OnError), runtimetimer.WithLogger(p.Logger))...)
	}},
}

// with returns the option for an executor, if there is one.
func with[O any](p soak.Parts, option func(hwt.Executor) O) (options []O) {
	if p.Executor != nil {
		options = append(options, option(p.Executor))
	}
	return options
}

// run soaks and reports.
func (c *soakCommand) run(cmd *cobra.Command) error {
	for _, e := range soaked {
		if name := strings.ToLower(c.engine); name == "all" || name == e.Name {
			c.config.Engines = append(c.config.Engines, e)
		}
	}
	if c.config.Engines == nil {
		return usageError{fmt.Errorf("--engine %q: must be all, %s, %s or %s", c.engine, kindHashed, kindHierarchical, kindRuntime)}
	}
	ctx, release := interruptible(cmd.Context())
	defer release()
	s := soak.New(c.config)
	stop := followSoak(s, c.config.For, c.err)
	report, err := s.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	if err := c.write(report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return err
	}
	if report.Interrupted {
		return errInterrupted
	}
	return nil
}

// write writes the report in the form asked for.
func (c *soakCommand) write(report *soak.Report) error {
	if !c.json {
		_, err := io.WriteString(c.out, report.Text())
		return err
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// soakLineEvery is how often a line tells how far it is.
const soakLineEvery = 5 * time.Second

// followSoak shows the progress of s on w until stop is called: as a bar on a
// terminal, as plain lines otherwise.
func followSoak(s *soak.Soak, total time.Duration, w io.Writer) (stop func()) {
	every, show, end := soakLineEvery, func(p soak.Progress) { fmt.Fprintln(w, soakLine(p)) }, func() {}
	if isTerminal(w) {
		bar := progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
		every, end = barEvery, func() { _ = bar.Clear() }
		show = func(p soak.Progress) {
			bar.Describe(soakLine(p))
			_ = bar.Set64(int64(min(p.Elapsed, total)))
		}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer end()
		look := time.NewTicker(every)
		defer look.Stop()
		for {
			select {
			case <-quit:
				return
			case <-look.C:
				show(s.Progress())
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func soakLine(p soak.Progress) string {
	return fmt.Sprintf("%4.0fs  rounds %s  operations %s  violations %d",
		p.Elapsed.Seconds(), human.Count(p.Rounds), human.Count(p.Operations), p.Violations)
}
