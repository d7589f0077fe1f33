// Package harness runs the sides of a comparison in child processes, and publishes its page.
package harness

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// Rounds runs this program once per round and side, with the side in its flag -child. It
// returns the samples of each side, which the program prints in JSON. Every second round
// reverses the sides, so no side always follows the same other one.
func Rounds[S any](rounds int, quick bool, sides []string) ([][]S, error) {
	samples := make([][]S, len(sides))
	for round := range rounds {
		for i := range sides {
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}
			var s S
			cmd := exec.Command(os.Args[0], "-child="+sides[i], fmt.Sprintf("-quick=%t", quick))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &s)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i], err)
			}
			fmt.Fprintf(os.Stderr, "%-45s %+v\n", sides[i], s)
			samples[i] = append(samples[i], s)
		}
	}
	return samples, nil
}

// Median returns the median of a value of samples.
func Median[S any](samples []S, of func(S) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return stats.Of(values).Median
}

// Main is the main function of a comparison. run returns the page or, in a child process, prints
// a sample. A terminal's Ctrl-C ends both.
func Main(name string, run func(child string, quick bool) (page string, err error)) {
	child := flag.String("child", "", "measure this side in this process; used by the command itself")
	quick := flag.Bool("quick", false, "quick smoke run; results are not meaningful")
	out := flag.String("out", "", "the `folder` of the page, which goes to standard output by default")
	flag.Parse()
	page, err := run(*child, *quick)
	switch {
	case err != nil || *child != "":
	case *out == "":
		_, err = os.Stdout.WriteString(page)
	default:
		err = os.WriteFile(filepath.Join(*out, name+".md"), []byte(page), 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
