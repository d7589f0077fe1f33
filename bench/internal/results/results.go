// Package results holds the data of a run of the comparison.
package results

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// Results is the data of one run.
type Results struct {
	Machine Machine        `json:"machine"`
	Commit  string         `json:"commit"`
	Command string         `json:"command"`
	Date    time.Time      `json:"date"`
	Took    time.Duration  `json:"took"`
	Quick   bool           `json:"quick,omitempty"`
	Rounds  int            `json:"rounds"`
	Engines []engines.Kind `json:"engines"`
	Notes   []string       `json:"notes,omitempty"` // omissions, with their reasons
	Cells   []*Cell        `json:"-"`
}

// Machine describes the machine of a run.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory"` // bytes
	System string `json:"system"`
	Go     string `json:"go"`
	Load   string `json:"load"` // of the system at the start
}

// Cell is one measurement of one engine.
type Cell struct {
	spec.Spec
	Metrics map[string][]float64 `json:"metrics,omitempty"` // one value per round
	Failure string               `json:"failure,omitempty"` // the reason of missing values
}

// Add adds the sample of a round.
func (c *Cell) Add(s spec.Sample) {
	if s.Failure != "" {
		c.Failure = s.Failure
		return
	}
	if c.Metrics == nil {
		c.Metrics = make(map[string][]float64)
	}
	for name, v := range s.Metrics {
		c.Metrics[name] = append(c.Metrics[name], fourDigits(v))
	}
}

// fourDigits rounds fractions to the precision of a measurement.
func fourDigits(v float64) float64 {
	if v == math.Trunc(v) {
		return v
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return v
}

// Rounds returns the number of samples.
func (c *Cell) Rounds() (n int) {
	for _, values := range c.Metrics {
		n = max(n, len(values))
	}
	return n
}

// Summary summarizes a metric of the cell, which may be nil.
func (c *Cell) Summary(metric string) stats.Summary {
	if c == nil {
		return stats.Summary{}
	}
	return stats.Of(c.Metrics[metric])
}

// Max returns the largest value of a metric of the cell, which may be nil, or 0 without
// values. The summary of many rounds leaves out the largest.
func (c *Cell) Max(metric string) float64 {
	if c == nil || len(c.Metrics[metric]) == 0 {
		return 0
	}
	return slices.Max(c.Metrics[metric])
}

// Cell returns the cell of an engine in a case, or nil.
func (r *Results) Cell(c spec.Spec, engine string) *Cell {
	c.Engine = engine
	i := slices.IndexFunc(r.Cells, func(cell *Cell) bool { return cell.Spec == c })
	if i < 0 {
		return nil
	}
	return r.Cells[i]
}

// Cases returns the cases of a measurement in the order of the plan.
func (r *Results) Cases(measure string) (cases []spec.Spec) {
	seen := make(map[spec.Spec]bool)
	for _, cell := range r.Cells {
		if c := cell.Case(); c.Measure == measure && !seen[c] {
			seen[c] = true
			cases = append(cases, c)
		}
	}
	return cases
}
