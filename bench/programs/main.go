// Command programs measures small programs, each written with the standard library, with
// the usual library, and with hwt. It writes docs/programs.md:
//
//	go -C bench run ./programs --out ../docs
//	go -C bench run ./programs --quick
//
// Each side of a program runs in its own process, the sides in turn, round by round. Values
// are medians of the rounds.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashedwheel/hwt/bench/internal/harness"
)

func main() { harness.Main("programs", run) }

// comparison is a program with the samples of its sides, in the order of the sides.
type comparison struct {
	program
	samples [][]sample
}

// run runs the programs and returns the page or, in a child process, runs one side.
func run(child string, quick bool) (string, error) {
	if child != "" {
		return "", runChild(child, quick)
	}
	const rounds = 5
	var all []comparison
	for _, p := range programs {
		var sides []string
		for _, side := range p.sides {
			sides = append(sides, p.name+"/"+side.name)
		}
		samples, err := harness.Rounds[sample](rounds, quick, sides)
		if err != nil {
			return "", err
		}
		all = append(all, comparison{p, samples})
	}
	return render(all), nil
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
