// Command programs measures small programs, each written with the standard library, with
// the usual library, and with hwt, and writes a page about them:
//
//	go -C bench run ./programs --out ../docs
//	go -C bench run ./programs --out ../docs --keep --only sessions
//	go -C bench run ./programs --quick --only sessions
//
// Each side of a program runs in its own process, the sides in turn, round by round. Values
// are medians of the rounds.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/proc"
)

func main() {
	child := flag.String("child", "", "run one side of one program")
	clients := flag.Int("clients", 0, "number of connections that send messages to an address")
	batch := flag.Int("batch", 0, "number of MQTT messages per write of --clients")
	only := flag.String("only", "", "the `programs` to run, separated by commas; all by default")
	rounds := flag.Int("rounds", 5, "number of rounds")
	quick := flag.Bool("quick", false, "quick smoke run with a tenth of each load")
	out := flag.String("out", "", "the `folder` for programs.md and programs.jsonl; the page goes to standard output by default")
	keep := flag.Bool("keep", false, "keep the results in programs.jsonl of all other programs")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *child != "":
		err = runChild(*child, *quick)
	case *clients > 0:
		runClients(*clients, flag.Arg(0), *batch)
	default:
		err = compare(ctx, *only, *rounds, *quick, *out, *keep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

// compare runs the programs and writes the page.
func compare(ctx context.Context, only string, rounds int, quick bool, out string, keep bool) error {
	chosen := programs
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
			if i < 0 {
				return fmt.Errorf("--only: no program %q", name)
			}
			chosen = append(chosen, programs[i])
		}
	}
	if rounds < 1 {
		return fmt.Errorf("--rounds: %d (expected: at least 1)", rounds)
	}
	data := filepath.Join(out, "programs.jsonl")
	var all []measured
	if keep {
		var err error
		if all, err = readData(data); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m measured) bool {
			return slices.ContainsFunc(chosen, func(p program) bool { return p.name == m.Program })
		})
	}
	for _, p := range chosen {
		measured, err := p.measure(ctx, rounds, quick)
		if err != nil {
			return err
		}
		all = append(all, measured...)
	}
	page := render(compared(all))
	if out == "" {
		_, err := os.Stdout.WriteString(page)
		return err
	}
	return errors.Join(writeData(data, all), os.WriteFile(filepath.Join(out, "programs.md"), []byte(page), 0o644))
}

// measured is one run of one side.
type measured struct {
	Program, Side string
	Sample        sample
}

func readData(file string) (all []measured, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for decoder := json.NewDecoder(f); ; {
		var m measured
		if err := decoder.Decode(&m); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, m)
	}
}

func writeData(file string, all []measured) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, m := range all {
		if err := encoder.Encode(m); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// comparison is a program with the samples of its sides, in the order of the sides.
type comparison struct {
	program
	samples [][]sample
}

// compared returns a comparison for each program that was measured.
func compared(all []measured) (list []comparison) {
	for _, p := range programs {
		c, any := comparison{p, make([][]sample, len(p.sides))}, false
		for _, m := range all {
			i := slices.IndexFunc(p.sides, func(s side) bool { return m.Program == p.name && m.Side == s.name })
			if i >= 0 {
				c.samples[i], any = append(c.samples[i], m.Sample), true
			}
		}
		if any {
			list = append(list, c)
		}
	}
	return list
}

func (p program) measure(ctx context.Context, rounds int, quick bool) (all []measured, err error) {
	sides := slices.Clone(p.sides)
	for range rounds {
		slices.Reverse(sides) // no side always runs after the same other one
		for _, side := range sides {
			s, err := spawn(ctx, os.Args[0], p.name+"/"+side.name, quick)
			if err != nil {
				return all, fmt.Errorf("%s, %s: %w", p.name, side.name, err)
			}
			fmt.Fprintf(os.Stderr, "%-16s %-28s %+v\n", p.name, side.name, s)
			all = append(all, measured{p.name, side.name, s})
		}
	}
	return all, nil
}

// spawn runs one side in its own process.
func spawn(ctx context.Context, executable, what string, quick bool) (sample, error) {
	return proc.Sample[sample](ctx, executable, "--child="+what, fmt.Sprintf("--quick=%t", quick))
}

func runChild(what string, quick bool) error {
	name, sideName, _ := strings.Cut(what, "/")
	for _, p := range programs {
		for _, side := range p.sides {
			if p.name == name && side.name == sideName {
				scale := 1
				if quick {
					scale = 10
				}
				return json.NewEncoder(os.Stdout).Encode(side.run(scale))
			}
		}
	}
	return fmt.Errorf("no program %q", what)
}
