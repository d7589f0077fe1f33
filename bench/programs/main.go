// Command programs measures small programs, each written with the standard library, with
// the usual library, and with hwt. It writes docs/programs.md:
//
//	go -C bench run ./programs --out ../docs
//	go -C bench run ./programs --quick --only sessions
//
// Each side of a program runs in its own process, the sides in turn, round by round. Values
// are medians of the rounds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/harness"
)

func main() {
	child := flag.String("child", "", "run one side of one program")
	only := flag.String("only", "", "the `programs` to run, separated by commas; all by default")
	rounds := flag.Int("rounds", 5, "number of rounds")
	quick := flag.Bool("quick", false, "quick smoke run with a tenth of each load")
	out := flag.String("out", "", "the `folder` for programs.md; the page goes to standard output by default")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *child != "":
		err = runChild(*child, *quick)
	default:
		err = compare(ctx, *only, *rounds, *quick, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

// comparison is a program with the samples of its sides, in the order of the sides.
type comparison struct {
	program
	samples [][]sample
}

// compare runs the programs and writes the page.
func compare(ctx context.Context, only string, rounds int, quick bool, out string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if rounds < 1 {
		return fmt.Errorf("-rounds: %d (expected: at least 1)", rounds)
	}
	var all []comparison
	for _, p := range chosen {
		var sides []string
		for _, side := range p.sides {
			sides = append(sides, p.name+"/"+side.name)
		}
		samples, err := harness.Rounds[sample](ctx, rounds, quick, sides)
		if err != nil {
			return err
		}
		all = append(all, comparison{p, samples})
	}
	return harness.Publish(out, "programs.md", render(all))
}

// choose returns the named programs, or all without names.
func choose(names string) (chosen []program, err error) {
	if names == "" {
		return programs, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: no program %q", name)
		}
		chosen = append(chosen, programs[i])
	}
	return chosen, nil
}

func runChild(what string, quick bool) error {
	scale := 1
	if quick {
		scale = 10
	}
	for _, p := range programs {
		for _, side := range p.sides {
			if p.name+"/"+side.name == what {
				return json.NewEncoder(os.Stdout).Encode(side.run(scale))
			}
		}
	}
	return fmt.Errorf("-child: no side %q of a program", what)
}
