// Package results holds what a run of the comparison measured, as it is written
// to benchmarks.json and read back.
package results

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// Results is everything that one run measured.
type Results struct {
	Machine Machine        `json:"machine"`
	Commit  string         `json:"commit"`
	Command string         `json:"command"`
	Date    time.Time      `json:"date"`
	Took    time.Duration  `json:"took"`
	Rounds  int            `json:"rounds"`
	Quick   bool           `json:"quick,omitempty"`
	Engines []engines.Kind `json:"engines"`
	Notes   []string       `json:"notes,omitempty"` // what was left out, and why
	Cells   []*Cell        `json:"cells"`
}

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory"` // bytes
	System string `json:"system"`
	Go     string `json:"go"`
	Load   string `json:"load"` // of the system when the run began
}

// Cell is one measurement of one engine, with a sample a round.
type Cell struct {
	Spec    spec.Spec     `json:"spec"`
	Samples []spec.Sample `json:"samples"`
}

// Whole reports whether each cell was measured at least once.
func (r *Results) Whole() bool {
	return !slices.ContainsFunc(r.Cells, func(c *Cell) bool { return len(c.Samples) == 0 })
}

// Failure returns why the cell lacks figures, or nothing.
func (c *Cell) Failure() string {
	if c != nil {
		for _, s := range c.Samples {
			if s.Failure != "" {
				return s.Failure
			}
		}
	}
	return ""
}

// Summary sums up a metric of the cell.
func (c *Cell) Summary(metric string) stats.Summary {
	if c == nil {
		return stats.Summary{}
	}
	var values []float64
	for _, s := range c.Samples {
		if v, ok := s.Metrics[metric]; ok {
			values = append(values, v)
		}
	}
	return stats.Of(values)
}

// Late returns the distribution of the lateness: the median round of each point.
func (c *Cell) Late() []spec.Point {
	if c == nil {
		return nil
	}
	var shares []float64
	values := make(map[float64][]float64)
	for _, s := range c.Samples {
		for _, p := range s.Late {
			if values[p.Share] == nil {
				shares = append(shares, p.Share)
			}
			values[p.Share] = append(values[p.Share], p.Ms)
		}
	}
	points := make([]spec.Point, len(shares))
	for i, share := range shares {
		points[i] = spec.Point{Share: share, Ms: stats.Of(values[share]).Median}
	}
	return points
}

// Cell returns the cell of an engine in a case, or nil.
func (r *Results) Cell(c spec.Spec, engine string) *Cell {
	c.Engine = engine
	for _, cell := range r.Cells {
		if cell.Spec == c {
			return cell
		}
	}
	return nil
}

// Cases returns the cases of a measurement, in the order in which they were
// planned.
func (r *Results) Cases(measure string) []spec.Spec {
	var cases []spec.Spec
	seen := make(map[spec.Spec]bool)
	for _, cell := range r.Cells {
		if c := cell.Spec.Case(); c.Measure == measure && !seen[c] {
			seen[c] = true
			cases = append(cases, c)
		}
	}
	return cases
}

// Write writes r to a file.
func (r *Results) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads results from a file, all or nothing: what is read may be written
// over what was measured.
func Read(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Cells) == 0 {
		return nil, fmt.Errorf("%s: holds no measurements", path)
	}
	return r, nil
}
