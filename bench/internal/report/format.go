package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// number writes v with three digits, and commas between thousands.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 1000:
		return commas(int64(math.Round(v)))
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.005:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 1, 64)
}

func commas(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// count writes n things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// figure writes the median, and the range if there was more than one round.
func figure(s stats.Summary) string {
	switch s.Rounds {
	case 0:
		return "–"
	case 1:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// ratio writes ours over theirs.
func ratio(r float64) string {
	if math.IsNaN(r) {
		return "–"
	}
	return number(r)
}

// conditions says on what background and by how many producers c is measured.
func conditions(c spec.Spec) string {
	parts := []string{"nothing pending"}
	if c.Pending > 0 {
		parts[0] = commas(int64(c.Pending)) + " pending"
	}
	switch {
	case c.Producers > 1:
		parts = append(parts, fmt.Sprintf("%d producers", c.Producers))
	case c.Measure == spec.Expire, c.Measure == spec.Correct, c.Measure == spec.Deadlines, c.Measure == spec.Goroutines:
		parts[0] = commas(int64(c.N)) + " timeouts"
	}
	return strings.Join(parts, ", ")
}

// table is a table in Markdown. The first column holds text, the others figures.
type table struct {
	head []string
	rows [][]string
}

func (t table) String() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
	}
	rule[0] = ":--"
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}
