package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// metrics are the values of a round.
type metrics = map[string]float64

// newResults returns results of ours and two rivals.
func newResults() *results.Results {
	return &results.Results{Rounds: 2, Engines: []engines.Kind{
		{Name: "hashedwheel", Ours: true}, {Name: "Netty"}, {Name: "antlabs"},
	}}
}

// add adds a cell with these rounds.
func add(r *results.Results, c spec.Spec, engine string, rounds ...metrics) *results.Cell {
	c.Engine = engine
	cell := &results.Cell{Spec: c}
	for _, m := range rounds {
		cell.Add(spec.Sample{Metrics: m})
	}
	r.Cells = append(r.Cells, cell)
	return cell
}

// at returns two rounds of one value.
func at(name string, v float64) []metrics { return []metrics{{name: v}, {name: v + 1}} }

func TestTablesShowMediansRangesAndFailures(t *testing.T) {
	r := newResults()
	c := spec.Spec{Measure: spec.ResetAll, Pending: 1000}
	add(r, c, "hashedwheel", at(spec.CPUNs, 200)...)
	add(r, c, "Netty", at(spec.CPUNs, 100)...)
	add(r, c, "antlabs").Failure = "crashed: panic: oh"
	rounds := slices.Repeat([]metrics{{spec.Lost: 0}}, 9)
	add(r, spec.Spec{Measure: spec.Correct, N: 10}, "Netty", append(rounds, metrics{spec.Lost: 1})...)
	var b strings.Builder
	require.NoError(t, Tables(&b, r, []string{spec.ResetAll}))
	assert.Equal(t, `Reset each to an earlier time: 1,000 pending
Each pending timeout is reset once, to be due within one second after the last reset. CPU counts until the last has run, wall time for the calls. A bystander repeats sleeps of 1 ms.

| engine | CPU, ns | wall time, ns | longest stall of a bystander, ms |
| :-- | --: | --: | --: |
| **hashedwheel** | 200 (200–201) | – | – |
| Netty ‡ | 100 (100–101) | – | – |
| antlabs | crashed | crashed | crashed |

`, b.String())
}

func TestLossesAreTheClearestAgainstCorrectEngines(t *testing.T) {
	r := newResults()
	for pending, its := range map[int]float64{0: 150, 1000: 100, 1_000_000: 199.5} { // the last overlaps
		c := spec.Spec{Measure: spec.Cancel, Pending: pending}
		add(r, c, "hashedwheel", at(spec.CPUNs, 200)...)
		add(r, c, "Netty", at(spec.CPUNs, its)...)
		add(r, c, "antlabs", at(spec.CPUNs, 10)...)
		add(r, c, "hierarchical", at(spec.CPUNs, 10)...) // ours
	}
	add(r, spec.Spec{Measure: spec.Correct, N: 10}, "antlabs", metrics{spec.Early: 1})
	rows := losses(r).rows
	require.Len(t, rows, 1)
	assert.Equal(t, []string{"Schedule and cancel", "CPU, ns", "1,000 pending", "Netty"}, rows[0][:4])
}

func TestEngineThatLeavesWorkUndoneIsNotAhead(t *testing.T) {
	c := spec.Spec{Measure: spec.Sustained, Rate: 1000}
	for fault, want := range map[string]int{"": 1, spec.Early: 0, spec.Lost: 0, spec.Behind: 0} {
		r := newResults()
		add(r, c, "hashedwheel", metrics{spec.LateP99: 10})
		its := metrics{spec.LateP99: 5}
		its[fault] = 5
		add(r, c, "Netty", its)
		assert.Len(t, losses(r).rows, want, fault)
	}
}

// full returns results with a value in every measurement.
func full() *results.Results {
	r := newResults()
	r.Machine.Memory = 24 << 30
	for i, k := range r.Engines {
		for _, m := range measurements {
			for _, n := range []int{1000, 1_000_000} {
				c := spec.Spec{Measure: m.name, Producers: 1, Pending: n, N: n, Rate: n}
				if m.name == spec.Cancel {
					c.Rate = 0
				}
				values := make(metrics)
				for _, metric := range append(m.metrics, p50) {
					values[metric.name] = float64(100 * (i + 1))
				}
				add(r, c, k.Name, values)
			}
		}
	}
	return r
}

func TestPageIsWrittenForAnyResults(t *testing.T) {
	for name, r := range map[string]*results.Results{"nothing": {}, "everything": full()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, Write(r, dir))
			page, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
			require.NoError(t, err)
			for _, bad := range []string{"<no value>", "NaN", "Inf", "\n\n\n"} {
				assert.NotContains(t, string(page), bad)
			}
			assert.Less(t, strings.Count(string(page), "\n"), 90, "one screen and a half")
		})
	}
}

// published returns the published data.
func published(t *testing.T) *results.Results {
	r, err := results.Read("../../../docs/benchmarks.jsonl")
	require.NoError(t, err)
	return r
}

func TestPartHasTheTablesOfItsRun(t *testing.T) {
	r := newResults()
	add(r, spec.Spec{Measure: spec.Cancel, Pending: 1000}, "hashedwheel", at(spec.CPUNs, 200)...)
	var text strings.Builder
	require.NoError(t, Part(&text, r))
	assert.Contains(t, text.String(), "| **hashedwheel** | 200 (200–201) |")
	assert.NotContains(t, text.String(), "\n\n\n")
}

// TestPublishedPageIsThatOfItsData renders the page and the tables again. The command
// go -C bench run . page writes them.
func TestPublishedPageIsThatOfItsData(t *testing.T) {
	const root = "../../.."
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o755))
	documents := []string{"README.md", "docs/engines.md", "docs/benchmarks.md"}
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		assert.True(t, name == "docs/benchmarks.md" || strings.Contains(string(text), summaryBegin), name)
	}
	require.NoError(t, Write(published(t), filepath.Join(dir, "docs")))
	for _, name := range documents {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}
