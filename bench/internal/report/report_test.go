package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// small returns results of ours and two rivals, with the rivals' CPU times.
func small(quickOne, faulty float64) *results.Results {
	r := &results.Results{Rounds: 2, Engines: []engines.Kind{
		{Name: "ours", Ours: true, Resets: true}, {Name: "quick", Resets: true}, {Name: "faulty"},
	}}
	add := func(s spec.Spec, engine string, metrics map[string]float64) {
		s.Engine = engine
		other := make(map[string]float64)
		for name, v := range metrics {
			other[name] = v + 1
		}
		r.Cells = append(r.Cells, &results.Cell{Spec: s, Samples: []spec.Sample{{Metrics: metrics}, {Metrics: other}}})
	}
	for _, pending := range []int{1000, 10_000} {
		c := spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: pending}
		add(c, "ours", map[string]float64{spec.CPUNs: 100})
		add(c, "quick", map[string]float64{spec.CPUNs: quickOne})
		add(c, "faulty", map[string]float64{spec.CPUNs: faulty})
	}
	c := spec.Spec{Measure: spec.Correct, N: 1000}
	add(c, "ours", map[string]float64{spec.EarlyMs: 0})
	for _, engine := range []string{"ours", "quick"} {
		cell := r.Cell(c, engine)
		if cell == nil {
			r.Cells = append(r.Cells, &results.Cell{Spec: spec.Spec{Measure: spec.Correct, N: 1000, Engine: engine}})
			cell = r.Cell(c, engine)
		}
		cell.Samples = []spec.Sample{{Metrics: map[string]float64{spec.Early: 0}}}
	}
	add(c, "faulty", map[string]float64{spec.Early: 200})
	return r
}

func TestTableInMarkdown(t *testing.T) {
	assert.Equal(t, "| a | b |\n| :-- | --: |\n| 1 | 2 |\n", table{head: []string{"a", "b"}, rows: [][]string{{"1", "2"}}}.String())
}

func TestGridShowsFiguresRatiosAndFaults(t *testing.T) {
	r := small(200, 50)
	got := grid(r, find(spec.Cancel), cancelColumns(r)[:1])
	assert.Equal(t, []string{"engine", "1,000 pending", "ratio", "faults"}, got.head)
	assert.Equal(t, [][]string{
		{"**ours**", "101 (100 to 101)", "1.00", "none"},
		{"quick", "201 (200 to 201)", "0.50", "none"},
		{"faulty", "**50.5** (50.0 to 51.0)", "1.99", "early: 20.1 %"},
	}, got.rows)
}

// cancelColumns returns the columns of CPU time.
func cancelColumns(r *results.Results) (columns []column) {
	for _, c := range r.Cases(spec.Cancel) {
		columns = append(columns, column{background(c), c, find(spec.Cancel).metrics[0], true})
	}
	return columns
}

func TestHangsAreInTheRow(t *testing.T) {
	r := small(200, 300)
	r.Cell(r.Cases(spec.Cancel)[0], "quick").Samples = []spec.Sample{{Failure: "hung: killed after 1s"}}
	got := grid(r, find(spec.Cancel), cancelColumns(r))
	assert.Equal(t, "hung: killed after 1s", got.rows[1][1])
	assert.Equal(t, "failed: 1 measurement", got.rows[1][5])
}

func TestPageIsWrittenWhateverWasMeasured(t *testing.T) {
	for name, r := range map[string]*results.Results{"nothing": {}, "won": small(200, 300), "lost": small(50, 60)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, Write(r, dir))
			text, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
			require.NoError(t, err)
			assert.NotContains(t, string(text), "<no value>")
			assert.NotContains(t, string(text), "NaN")
			assert.Equal(t, name == "lost", strings.Contains(string(text), "These it lost"))
			assert.Equal(t, name == "won", strings.Contains(string(text), "It lost none of them clearly"))
			assert.Equal(t, name != "nothing", exists(filepath.Join(dir, growthPlot)))
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestSummaryOfResultsSurvivesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	r := small(50, 60)
	require.NoError(t, r.Write(path))
	back, err := results.Read(path)
	require.NoError(t, err)
	assert.Equal(t, behind(r, clear), behind(back, clear))
}
