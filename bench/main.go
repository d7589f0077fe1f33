// Command bench compares the timers of hwt with their rivals, and writes what it
// finds as a page, as data and as plots. Try
//
//	go -C bench run . --quick --out /tmp
//	go -C bench run . --only cancel,expire --engines hashedwheel,AfterFunc
//	go -C bench run . --only full-speed,trickle --rows 'by 2,1000/s' --quick
//	go -C bench run . --render ../docs/benchmarks.jsonl
//
// Each measurement runs in a process of its own, the engines in turn, round by
// round. The full run waits for a quiet machine and repeats what it measured while the
// machine was not steady. docs/benchmarks.md says how long it takes; interrupted, it
// writes what it has, and --continue goes on with that. Only the full run writes to the repository's docs by default.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

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

// execute runs what the flags ask for.
func (f *flags) execute(ctx context.Context, set *pflag.FlagSet) error {
	if f.child != "" {
		return run.Child(f.child, os.Stdout)
	}
	if err := f.check(set); err != nil {
		return err
	}
	if f.out != "" {
		if err := writable(f.out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	r, err := f.results(ctx)
	if r == nil {
		return err
	}
	return errors.Join(f.write(r), err) // an interrupted run has results, too
}

// results measures, or reads what was measured before.
func (f *flags) results(ctx context.Context) (*results.Results, error) {
	if f.render != "" {
		return results.Read(f.render)
	}
	if f.goOn != "" {
		before, err := results.Read(f.goOn)
		if err != nil {
			return nil, fmt.Errorf("--continue: %w", err)
		}
		f.Before = before
	}
	f.Log = os.Stderr
	f.Command = recorded(os.Args[1:])
	r, err := run.Run(ctx, f.Options)
	if err == nil && len(r.Cells) == 0 {
		return nil, errors.New("nothing to measure: none of these engines has any of these measurements")
	}
	return r, err
}

func (f *flags) write(r *results.Results) error {
	if f.out == "" {
		return report.Tables(os.Stdout, r)
	}
	if err := r.Write(filepath.Join(f.out, "benchmarks.jsonl")); err != nil {
		return err
	}
	return report.Write(r, f.out)
}

// writable makes the folder and tries to write there: better now than after hours.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".bench-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
