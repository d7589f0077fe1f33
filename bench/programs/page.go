package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// render returns the page.
func render(all []comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Does it pay?

It pays for programs with very many timeouts: in memory, and in CPU time if many expire
together, as [the benchmarks](benchmarks.md) show. It does not pay for the deadlines of a
server's requests, which cost little beside the requests themselves.

Each program is written twice: with the standard library or another usual library, and with
`+"`hwt`"+`. Each number is the result of `+"`hwt`"+` divided by that of the other version: the median of
the rounds and their range. It is bold if all rounds are on the same side of 1.

| program | with | instead of | CPU | heap |
| :-- | :-- | :-- | --: | --: |
`)
	for _, c := range all {
		ours := c.sides[len(c.sides)-1].name
		for i, side := range c.others() {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.title, ours, side.name, c.ratio(i, cpu), c.ratio(i, heap))
		}
	}
	fmt.Fprintf(&b, `
This page is written by `+"`go -C bench run ./programs --out ../docs`"+`. Edit
`+"`bench/programs`"+` to change it. It was measured with %s on %d cores. CPU is the time of all
processors for the whole process, including the load's own. Heap is the live heap at the
height of the load. Each side runs in its own process. The sides take turns, and a ratio
compares two processes of the same round.
`, runtime.Version(), runtime.NumCPU())
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n", c.title, c.text, c.remark)
	}
	return b.String()
}

func cpu(s sample) float64  { return s.CPU }
func heap(s sample) float64 { return s.HeapMB }

// others returns the sides except ours.
func (c comparison) others() []side { return c.sides[:len(c.sides)-1] }

func (c comparison) ours() []sample { return c.samples[len(c.samples)-1] }

// ratio returns our part of another side's number.
func (c comparison) ratio(other int, of func(sample) float64) string {
	var ratios []float64
	for round := range min(len(c.ours()), len(c.samples[other])) {
		if theirs := of(c.samples[other][round]); theirs > 0 {
			ratios = append(ratios, of(c.ours()[round])/theirs)
		}
	}
	s := stats.Of(ratios)
	if !s.Known() {
		return "–"
	}
	low, high := slices.Min(ratios), slices.Max(ratios) // s has a narrower interval if there are many rounds
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, low, high)
	if high < 0.995 || low >= 1.005 {
		text = "**" + text + "**"
	}
	return text
}
