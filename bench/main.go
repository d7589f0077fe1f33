// Command bench compares the timers of hwt with their rivals, and writes what it
// finds as a page, as data and as plots. Try
//
//	go -C bench run . --quick --out /tmp
//	go -C bench run . --only cancel,expire --engines hashedwheel,AfterFunc
//
// Each measurement runs in a process of its own, the engines in turn, round by
// round. A full run takes an hour or two, and nothing else should run meanwhile;
// interrupted after the first round, it writes what it has.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/report"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/run"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	if errors.Is(err, context.Canceled) {
		os.Exit(130)
	}
	os.Exit(1)
}

// flags are the command line.
type flags struct {
	run.Options
	out    string
	render string
	child  string
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "bench",
		Short:         "Compares hwt's timers with their rivals",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return f.execute(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.Quick, "quick", false, "measure little and once, to try it all: the figures say nothing")
	flags.StringSliceVar(&f.Only, "only", nil, "measure only these: "+strings.Join(run.Measurements, ", "))
	flags.StringSliceVar(&f.Engines, "engines", nil, "measure only these: "+strings.Join(engines.Names(engines.All()), ", "))
	flags.IntVar(&f.Rounds, "rounds", 0, "how often each is measured (default 5, with --quick 1)")
	flags.StringVar(&f.out, "out", "../docs", "where to write benchmarks.md, benchmarks.json and the plots")
	flags.StringVar(&f.render, "render", "", "measure nothing: write the page and the plots anew from this benchmarks.json")
	flags.StringVar(&f.child, "child", "", "measure this one thing in this process")
	_ = flags.MarkHidden("child") // it is there
	return cmd
}

func (f *flags) execute(ctx context.Context) error {
	if f.child != "" {
		return run.Child(f.child, os.Stdout)
	}
	r, err := f.results(ctx)
	if r == nil {
		return err
	}
	return errors.Join(f.write(r), err) // an interrupted run has something to tell, too
}

func (f *flags) write(r *results.Results) error {
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	if err := r.Write(filepath.Join(f.out, "benchmarks.json")); err != nil {
		return err
	}
	return report.Write(r, f.out)
}

// results measures, or reads what was measured before.
func (f *flags) results(ctx context.Context) (*results.Results, error) {
	if f.render != "" {
		return results.Read(f.render)
	}
	if err := run.CheckOnly(f.Only); err != nil {
		return nil, err
	}
	switch {
	case f.Rounds < 0:
		return nil, fmt.Errorf("--rounds: %d (expected: > 0)", f.Rounds)
	case f.Rounds == 0 && f.Quick:
		f.Rounds = 1
	case f.Rounds == 0:
		f.Rounds = 5
	}
	f.Log = os.Stderr
	f.Command = strings.Join(append([]string{"go -C bench run ."}, os.Args[1:]...), " ")
	return run.Run(ctx, f.Options)
}
