package lateness

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/hashedwheel/hwt/internal/cli"
)

// edges are the upper ends of the bins: 1, 2 and 5 times each power of ten from
// 10 µs on, and one for the rest.
var edges = makeEdges()

func makeEdges() []time.Duration {
	var edges []time.Duration
	for decade := 10 * time.Microsecond; decade < longest; decade *= 10 {
		edges = append(edges, decade, 2*decade, 5*decade)
	}
	return append(edges, 2*longest)
}

// bins merges the fine bars of a histogram into few coarse ones.
func bins(bars []hdrhistogram.Bar) []Bin {
	all := make([]Bin, len(edges))
	for i, edge := range edges {
		all[i].UpTo = edge
	}
	i := 0
	for _, bar := range bars {
		for time.Duration(bar.From) > edges[i] {
			i++
		}
		all[i].Count += bar.Count
	}
	return trim(all)
}

// trim drops the empty bins at both ends.
func trim(bins []Bin) []Bin {
	for len(bins) > 0 && bins[0].Count == 0 {
		bins = bins[1:]
	}
	for len(bins) > 0 && bins[len(bins)-1].Count == 0 {
		bins = bins[:len(bins)-1]
	}
	return bins
}

// barWidth is the length of the longest bar, in characters.
const barWidth = 40

// Histogram draws the bins, one a line, each line after indent.
func (s Summary) Histogram(indent string) string {
	var text strings.Builder
	for _, bin := range s.Bins {
		line := fmt.Sprintf("%sup to %7s %12s  %s", indent, cli.Duration(bin.UpTo), cli.Count(bin.Count), s.bar(bin))
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// bar draws one bar, at least a dot unless the bin is empty.
func (s Summary) bar(bin Bin) string {
	var fullest int64
	for _, other := range s.Bins {
		fullest = max(fullest, other.Count)
	}
	length := int(float64(bin.Count) / float64(fullest) * barWidth)
	if length == 0 && bin.Count > 0 {
		return "."
	}
	return strings.Repeat("#", length)
}
