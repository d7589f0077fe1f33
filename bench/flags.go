package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/run"
)

// flags are those of the command line.
type flags struct {
	run.Options
	out    string
	render string
	goOn   string // the results to continue
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
		RunE:          func(cmd *cobra.Command, _ []string) error { return f.execute(cmd.Context(), cmd.Flags()) },
	}
	f.define(cmd.Flags())
	for _, name := range narrowing {
		cmd.MarkFlagsMutuallyExclusive("render", name)
	}
	cmd.MarkFlagsMutuallyExclusive("render", "continue")
	cmd.MarkFlagsMutuallyExclusive("render", "rounds")
	cmd.MarkFlagsMutuallyExclusive("render", "wait")
	return cmd
}

func (f *flags) define(set *pflag.FlagSet) {
	set.BoolVar(&f.Quick, "quick", false, "measure little and once, to try it all: the figures mean nothing")
	set.StringSliceVar(&f.Only, "only", nil, "measure only these: "+strings.Join(run.Measurements, ", "))
	set.StringSliceVar(&f.Engines, "engines", nil, "measure only these: "+strings.Join(engines.Names(engines.All()), ", "))
	set.StringSliceVar(&f.Rows, "rows", nil, "measure only what has one of these texts in its name, such as 'by 2' or '1000/s'")
	set.IntVar(&f.Rounds, "rounds", 5, "how often each is measured (with --quick: once, unless given)")
	set.DurationVar(&f.Wait, "wait", 30*time.Minute, "wait at most this long for a quiet machine (less than the full run: not at all, unless given)")
	set.StringVar(&f.out, "out", "", "where to write benchmarks.md, benchmarks.jsonl and the plots "+
		"(default: ../docs for the full run, the file's folder for --render; less than the full run prints its tables)")
	set.StringVar(&f.render, "render", "", "measure nothing: write the page and the plots anew from this benchmarks.jsonl")
	set.StringVar(&f.goOn, "continue", "", "go on with an interrupted run: measure what is lacking in this benchmarks.jsonl, of the same code")
	set.StringVar(&f.child, "child", "", "measure this one thing in this process")
	_ = set.MarkHidden("child") // it is defined
}

// narrowing are the flags that make a run less than the full one.
var narrowing = []string{"quick", "only", "engines", "rows"}

// check returns what is wrong with the flags, and fills in what was not given.
func (f *flags) check(set *pflag.FlagSet) error {
	if err := named("only", set, f.Only, run.Measurements, run.CheckOnly); err != nil {
		return err
	}
	if err := named("engines", set, f.Engines, engines.Names(engines.All()), knownEngines); err != nil {
		return err
	}
	if f.Quick && !set.Changed("rounds") {
		f.Rounds = 1
	}
	if f.Rounds < 1 {
		return fmt.Errorf("--rounds: %d (expected: at least 1)", f.Rounds)
	}
	if f.Wait < 0 {
		return fmt.Errorf("--wait: %v (expected: at least 0)", f.Wait)
	}
	f.Steady = !slices.ContainsFunc(narrowing, set.Changed)
	if !f.Steady && !set.Changed("wait") {
		f.Wait = 0
	}
	return f.place(set)
}

// named checks a flag that lists names.
func named(flag string, set *pflag.FlagSet, names, known []string, check func([]string) error) error {
	if set.Changed(flag) && len(names) == 0 {
		return fmt.Errorf("--%s: empty (known: %s)", flag, strings.Join(known, ", "))
	}
	if err := check(names); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

func knownEngines(names []string) error {
	for _, name := range names {
		if _, err := engines.Find(name); err != nil {
			return err
		}
	}
	return nil
}

// place decides where to write if --out does not say. What is less than the full run
// must not take the place of one: its tables go to the standard output.
func (f *flags) place(set *pflag.FlagSet) error {
	switch {
	case f.out != "":
		return nil
	case set.Changed("out"):
		return errors.New("--out: empty (expected: a folder)")
	case f.render != "":
		f.out = filepath.Dir(f.render)
		return nil
	}
	if f.Steady {
		f.out = "../docs"
	}
	return nil
}

// recorded returns the command line for the page, without files and folders.
func recorded(args []string) string {
	words := []string{"go -C bench run ."}
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--out", args[i] == "--continue":
			i++ // and its value
		case strings.HasPrefix(args[i], "--out="), strings.HasPrefix(args[i], "--continue="):
		default:
			words = append(words, args[i])
		}
	}
	return strings.Join(words, " ")
}
