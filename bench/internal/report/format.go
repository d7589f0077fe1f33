package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// number writes v with three digits, two if it is below one, and commas between
// thousands.
func number(v float64) string {
	digits := 3
	if math.Abs(v) < 1 {
		digits = 2
	}
	if math.Abs(v) >= 100 {
		return whole(v)
	}
	// Rounded first: 9.996 is 10.0.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100:
		return whole(v)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.01:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case a >= 0.001:
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return "~0" // too little for anybody to care
}

// whole writes a number of things.
func whole(v float64) string { return commas(int64(math.Round(v))) }

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

// figure writes the median, and the range if there was more than one round. The
// least of its column is bold.
func figure(s stats.Summary, write func(float64) string, bold bool) string {
	if !s.Known() {
		return "–"
	}
	text := write(s.Median)
	if bold {
		text = "**" + text + "**"
	}
	if s.Rounds == 1 {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, write(s.Min), write(s.Max))
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
	if c.Producers > 1 {
		return background(c) + fmt.Sprintf(" and %d producers", c.Producers)
	}
	return background(c)
}

// background says how many timeouts there are.
func background(c spec.Spec) string {
	switch c.Measure {
	case spec.Expire, spec.Correct, spec.Moved, spec.Deadlines, spec.Goroutines:
		return commas(int64(c.N)) + " timeouts"
	}
	return pending(c.Pending)
}

func pending(n int) string {
	if n == 0 {
		return "nothing pending"
	}
	return commas(int64(n)) + " pending"
}

// table is a table in Markdown. The first column holds text, the others figures,
// unless all is text.
type table struct {
	head []string
	rows [][]string
	text bool
}

func (t table) String() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
		if t.text || i == 0 {
			rule[i] = ":--"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}
