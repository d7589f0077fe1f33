// Command bench compares the timers of hwt with their rivals.
//
//	go -C bench run .                            # everything: writes ../docs; Ctrl-C interrupts, the same command continues
//	go -C bench run . --quick                    # a smoke run in a minute or two
//	go -C bench run . --only cancel,expire --engines hashedwheel,AfterFunc
//	go -C bench run . table saturated trickle    # prints tables of the published data
//	go -C bench run . page                       # writes the page and the plots of the published data
//
// Each measurement runs in its own process, the engines in turn, round by round. Only the
// full run writes files; it needs a working tree without changes and a quiet machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// flags are the settings of a run. With any flag in narrowing, it is less than the full run.
type flags struct {
	run.Options
	child string
}

var narrowing = []string{"quick", "only", "engines", "rows", "rounds"}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "bench",
		Short:         "Compare hwt's timers with their rivals",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return f.measure(cmd.Context(), cmd.Flags()) },
	}
	set := cmd.Flags()
	set.BoolVar(&f.Quick, "quick", false, "quick smoke run; results are not meaningful")
	set.StringSliceVar(&f.Only, "only", nil, "measurements: "+strings.Join(spec.Measurements, ", "))
	set.StringSliceVar(&f.Engines, "engines", nil, "engines: "+strings.Join(engines.Names(engines.All()), ", "))
	set.StringSliceVar(&f.Rows, "rows", nil, "texts that occur in the descriptions of the measurements, such as 'by 2' or '1000/s'")
	set.IntVar(&f.Rounds, "rounds", 5, "number of rounds (with --quick: 1)")
	set.StringVar(&f.child, "child", "", "measure this in this process")
	_ = set.MarkHidden("child") // it is defined
	cmd.AddCommand(&cobra.Command{
		Use:   "page",
		Short: "Write the page, the plots, and the README's table of the published data",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := results.Read(data)
			if err != nil {
				return err
			}
			return report.Write(r, docs)
		},
	}, &cobra.Command{
		Use:   "table [MEASUREMENT...]",
		Short: "Print the tables of the published data",
		RunE: func(_ *cobra.Command, names []string) error {
			r, err := results.Read(data)
			if err != nil {
				return err
			}
			if err := run.CheckOnly(names); err != nil {
				return err
			}
			return report.Tables(os.Stdout, r, names)
		},
	})
	return cmd
}

// measure runs the comparison. A full run writes the documents, a smaller one its tables.
func (f *flags) measure(ctx context.Context, set *pflag.FlagSet) error {
	if f.child != "" {
		return run.Child(f.child, os.Stdout)
	}
	if err := f.check(set); err != nil {
		return err
	}
	full := !slices.ContainsFunc(narrowing, set.Changed)
	if full {
		f.Part = data + ".part"
	}
	f.Log = os.Stderr
	f.Command = strings.Join(append([]string{"go -C bench run ."}, os.Args[1:]...), " ")
	r, err := run.Run(ctx, f.Options)
	switch {
	case err != nil:
		return err
	case !full:
		return report.Tables(os.Stdout, r, nil)
	}
	return errors.Join(r.Write(data), report.Write(r, docs))
}

// check returns an error that names the flag with a bad value.
func (f *flags) check(set *pflag.FlagSet) error {
	for _, name := range f.Engines {
		if _, err := engines.Find(name); err != nil {
			return fmt.Errorf("--engines: %w", err)
		}
	}
	for flag, names := range map[string][]string{"only": f.Only, "engines": f.Engines, "rows": f.Rows} {
		if set.Changed(flag) && len(names) == 0 {
			return fmt.Errorf("--%s: empty (expected: at least one)", flag)
		}
	}
	if err := run.CheckOnly(f.Only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if f.Quick && !set.Changed("rounds") {
		f.Rounds = 1
	}
	if f.Rounds < 1 {
		return fmt.Errorf("--rounds: %d (expected: at least 1)", f.Rounds)
	}
	return nil
}
