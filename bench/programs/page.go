package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/internal/cli"
)

// render returns the page.
func render(all []comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Whole programs

This page is written by `+"`go -C bench run ./programs --out ../docs`"+`. Edit
`+"`bench/programs`"+` to change it. It was measured with %s on %d cores.

Each program is written with the standard library or the usual library, and with
`+"`hwt`"+`. CPU is the time of all processors for the whole process, including the load's own;
× is that over ours in the last line. Heap is the live heap at the height of the load.
Each side runs in its own process, the sides in turn. Values are the medians of the
rounds. *No difference* means that the rounds of the two sides overlap.

## In short

`, runtime.Version(), runtime.NumCPU())
	for _, c := range all {
		c.summary(&b)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", c.title, wrap(c.text, 86))
		c.table(&b)
		if c.remark != "" {
			fmt.Fprintf(&b, "\n%s\n", wrap(c.remark, 86))
		}
	}
	return b.String()
}

// summary writes how ours compares with each other side, except the load alone. It
// names a difference only if no round of the one is like a round of the other.
func (c comparison) summary(b *strings.Builder) {
	ours := c.sides[len(c.sides)-1].name
	for i, side := range c.sides[:len(c.sides)-1] {
		if side.base {
			continue
		}
		var parts []string
		for _, column := range []column{
			{"CPU", func(s sample) float64 { return s.CPU }},
			{"heap", func(s sample) float64 { return s.HeapMB }},
			{"99th percentile of the lateness", func(s sample) float64 { return s.LateP99 }},
		} {
			if text := difference(summarize(c.samples[len(c.samples)-1], column.of), summarize(c.samples[i], column.of), column.head); text != "" {
				parts = append(parts, text)
			}
		}
		line := fmt.Sprintf("**%s**: %s beside %s: %s.", c.title, ours, side.name, strings.Join(parts, "; "))
		b.WriteString("- " + strings.ReplaceAll(wrap(line, 84), "\n", "\n  ") + "\n")
	}
}

// difference returns a phrase, or nothing if it was not measured.
func difference(ours, theirs stats.Summary, what string) string {
	if ours.Median == 0 || theirs.Median == 0 {
		return ""
	}
	ratio := ours.Median / theirs.Median
	switch {
	case !stats.Apart(ours, theirs):
		return "no difference in " + what
	case ratio < 0.01:
		return fmt.Sprintf("1/%s of the %s", cli.Count(int64(1/ratio)), what)
	}
	return fmt.Sprintf("%s times the %s", cli.Number(ratio), what)
}

func summarize(samples []sample, of func(sample) float64) stats.Summary {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return stats.Of(values)
}

// column is a figure of a sample.
type column struct {
	head string
	of   func(sample) float64
}

// table writes the sides that were measured, ours last, without columns that are empty.
func (c comparison) table(b *strings.Builder) {
	columns := []column{
		{"CPU, µs a " + c.unit, func(s sample) float64 { return s.CPU }},
		{"×", nil},
		{"heap, MB", func(s sample) float64 { return s.HeapMB }},
		{"late, p50, ms", func(s sample) float64 { return s.LateP50 }},
		{"late, p99, ms", func(s sample) float64 { return s.LateP99 }},
		{"late, max, ms", func(s sample) float64 { return s.LateMax }},
	}
	var heads, rules []string
	var shown []column
	ours := c.samples[len(c.samples)-1]
	for _, column := range columns {
		if column.of == nil || median(ours, column.of) != 0 {
			heads, rules, shown = append(heads, column.head), append(rules, "--:"), append(shown, column)
		}
	}
	fmt.Fprintf(b, "| program | %s |\n| :-- | %s |\n", strings.Join(heads, " | "), strings.Join(rules, " | "))
	for i, samples := range c.samples {
		fmt.Fprintf(b, "| %s |", c.sides[i].name)
		for _, column := range shown {
			value := 0.0
			if column.of != nil {
				value = median(samples, column.of)
			} else {
				cpu := shown[0].of
				value = median(samples, cpu) / median(ours, cpu)
			}
			fmt.Fprintf(b, " %s |", cli.Number(value))
		}
		b.WriteString("\n")
	}
}

func median(samples []sample, of func(sample) float64) float64 { return summarize(samples, of).Median }

// wrap breaks text into lines of at most width.
func wrap(text string, width int) string {
	var b strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		switch {
		case length == 0:
		case length+1+len(word) > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}
