package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/run"
)

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
		RunE:          func(cmd *cobra.Command, _ []string) error { return f.execute(cmd.Context(), cmd.Flags()) },
	}
	f.define(cmd.Flags())
	for _, name := range narrowing {
		cmd.MarkFlagsMutuallyExclusive("render", name)
	}
	cmd.MarkFlagsMutuallyExclusive("render", "rounds")
	return cmd
}

func (f *flags) define(set *pflag.FlagSet) {
	set.BoolVar(&f.Quick, "quick", false, "measure little and once, to try it all: the figures say nothing")
	set.StringSliceVar(&f.Only, "only", nil, "measure only these: "+strings.Join(run.Measurements, ", "))
	set.StringSliceVar(&f.Engines, "engines", nil, "measure only these: "+strings.Join(engines.Names(engines.All()), ", "))
	set.IntVar(&f.Rounds, "rounds", 5, "how often each is measured (with --quick once, unless told)")
	set.StringVar(&f.out, "out", "", "where to write benchmarks.md, benchmarks.json and the plots "+
		"(default: ../docs for the full run, the file's folder for --render)")
	set.StringVar(&f.render, "render", "", "measure nothing: write the page and the plots anew from this benchmarks.json")
	set.StringVar(&f.child, "child", "", "measure this one thing in this process")
	_ = set.MarkHidden("child") // it is there
}

// narrowing are the flags that make a run less than the full one.
var narrowing = []string{"quick", "only", "engines"}

// check returns what is wrong with the flags, and fills in what was not said.
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
	return f.place(set)
}

// named returns what is wrong with a flag that names things.
func named(flag string, set *pflag.FlagSet, names, known []string, check func([]string) error) error {
	if set.Changed(flag) && len(names) == 0 {
		return fmt.Errorf("--%s: names nothing (known: %s)", flag, strings.Join(known, ", "))
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

// place decides where to write, if nobody said. What is less than the full run
// must not take the place of one.
func (f *flags) place(set *pflag.FlagSet) error {
	switch {
	case f.out != "":
		return nil
	case set.Changed("out"):
		return errors.New("--out: names no folder")
	case f.render != "":
		f.out = filepath.Dir(f.render)
		return nil
	}
	for _, name := range narrowing {
		if set.Changed(name) {
			return fmt.Errorf("--%s is less than the full run: say with --out where to write", name)
		}
	}
	f.out = "../docs"
	return nil
}

// recorded returns the command line for the page. Where somebody had it written
// is nobody else's business.
func recorded(args []string) string {
	words := []string{"go -C bench run ."}
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--out":
			i++ // and its value
		case strings.HasPrefix(args[i], "--out="):
		default:
			words = append(words, args[i])
		}
	}
	return strings.Join(words, " ")
}
