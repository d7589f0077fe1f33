package report

import (
	"math"
	"strconv"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// floors returns the table of the floor in each round.
func floors(r *results.Results) table {
	t := table{head: []string{"round", "stretches", "least, ns", "greatest, ns", "most moved in one, %", "repeated"}}
	for i, round := range r.Rounds {
		if len(round.Stretches) == 0 {
			continue
		}
		least, greatest, moved, repeated := math.Inf(1), 0.0, 0.0, 0
		for _, s := range round.Stretches {
			low, high := min(s.Before, s.After), max(s.Before, s.After)
			least, greatest, moved = min(least, low), max(greatest, high), max(moved, 100*(high/low-1))
			repeated += s.Repeated
		}
		t.add(strconv.Itoa(i+1), strconv.Itoa(len(round.Stretches)), cli.Number(least), cli.Number(greatest),
			cli.Number(moved), strconv.Itoa(repeated)+" ×")
	}
	return t
}

// floorParts returns the table of what the floor is made of.
func floorParts(r *results.Results) table {
	t := table{head: []string{"part", "CPU, ns"}}
	for _, c := range r.Cases(spec.Floor) {
		cell := r.Cell(c, "")
		for _, m := range []metric{
			{name: spec.AllocNs, head: "an allocation of 48 bytes"}, {name: spec.ClockNs, head: "a reading of the clock"},
			{name: spec.SwapNs, head: "an atomic swap"}, {name: spec.CPUNs, head: "all three in one loop: the floor"},
		} {
			t.add(m.head, figure(cell, cell.Summary(m.name), m, "", false))
		}
	}
	return t
}
