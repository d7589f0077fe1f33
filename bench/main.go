// Command bench compares the timers of hwt with their rivals.
//
//	go -C bench run .                            # everything: writes ../docs; Ctrl-C interrupts, the same command continues
//	go -C bench run . -quick                    # a smoke run in a minute or two
//	go -C bench run . -only cancel,expire -engines hashedwheel,AfterFunc
//	go -C bench run . table saturated trickle    # prints tables of the published data
//	go -C bench run . page                       # writes the page of the published data
//
// Each measurement runs in its own process, the engines in turn, round by round. Only the
// full run writes files; it needs a working tree without changes and a quiet machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/report"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/run"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	docs = "../docs"
	data = docs + "/benchmarks.jsonl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "bench: interrupted; the same command continues a full run")
		os.Exit(130)
	}
	fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	os.Exit(1)
}

// command runs the command line.
func command(ctx context.Context, args []string) error {
	var o run.Options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.Quick, "quick", false, "quick smoke run; results are not meaningful")
	list(flags, &o.Only, "only", "measurements: "+strings.Join(spec.Measurements, ", "))
	list(flags, &o.Engines, "engines", "engines: "+strings.Join(engines.Names(engines.All()), ", "))
	flags.IntVar(&o.Rounds, "rounds", 0, "number of rounds (default 6, with -quick 1); a full run has 5 or more")
	child := flags.String("child", "", "measure this in this process; used by the command itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch name := flags.Arg(0); name {
	case "page", "table":
		return published(name, flags.Args()[1:])
	case "":
	default:
		return fmt.Errorf("unknown command %q (expected: page or table)", name)
	}
	if *child != "" {
		return run.Child(*child, os.Stdout)
	}
	return measure(ctx, o, args)
}

// list defines a flag with a list of names, separated by commas.
func list(flags *flag.FlagSet, names *[]string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		if text == "" {
			return errors.New("empty (expected: at least one)")
		}
		*names = append(*names, strings.Split(text, ",")...)
		return nil
	})
}

// published writes the page, or prints tables, of the published data.
func published(command string, names []string) error {
	r, err := results.Read(data)
	if err != nil {
		return err
	}
	switch {
	case command == "page" && len(names) == 0:
		return report.Write(r, docs)
	case command == "page":
		return fmt.Errorf("page: %q (expected: no arguments)", names)
	}
	if err := run.CheckOnly(names); err != nil {
		return err
	}
	return report.Tables(os.Stdout, r, names)
}

// isFull reports whether a run measures everything, in five rounds or more.
func isFull(o run.Options) bool {
	return !o.Quick && len(o.Only)+len(o.Engines) == 0 && (o.Rounds == 0 || o.Rounds >= 5)
}

// measure runs the comparison. A full run writes the documents, and a smaller one prints its
// tables.
func measure(ctx context.Context, o run.Options, args []string) error {
	full := isFull(o)
	switch {
	case o.Rounds < 0:
		return fmt.Errorf("-rounds: %d (expected: at least 1)", o.Rounds)
	case o.Rounds == 0 && o.Quick:
		o.Rounds = 1
	case o.Rounds == 0:
		o.Rounds = 6
	}
	for _, name := range o.Engines {
		if _, err := engines.Find(name); err != nil {
			return fmt.Errorf("-engines: %w", err)
		}
	}
	if err := run.CheckOnly(o.Only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if full {
		o.File = data + ".part"
	}
	o.Log = os.Stderr
	o.Command = strings.Join(append([]string{"go -C bench run ."}, args...), " ")
	r, err := run.Run(ctx, o)
	switch {
	case err != nil:
		return err
	case !full:
		return report.Part(os.Stdout, r)
	}
	return errors.Join(os.Rename(o.File, data), report.Write(r, docs))
}
