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

// metrics are what a round measured.
type metrics = map[string]float64

// newResults returns results of ours and two rivals.
func newResults() *results.Results {
	return &results.Results{Rounds: make([]results.Round, 2), Engines: []engines.Kind{
		{Name: "ours", Ours: true, Resets: true}, {Name: "rival", Resets: true}, {Name: "other"},
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

// at returns two rounds of one figure.
func at(name string, v float64) []metrics { return []metrics{{name: v}, {name: v + 1}} }

func TestTableInMarkdown(t *testing.T) {
	assert.Equal(t, "| a | b |\n| :-- | --: |\n| 1 | 2 |\n", table{head: []string{"a", "b"}, rows: [][]string{{"1", "2"}}}.String())
}

func TestTablesShowFiguresRatiosAndMarks(t *testing.T) {
	r := newResults()
	c := spec.Spec{Measure: spec.ResetLater, Producers: 1, Pending: 1000}
	add(r, c, "ours", at(spec.CPUNs, 200)...)
	add(r, c, "rival", at(spec.CPUNs, 100)...)
	add(r, c, "other").Failure = "crashed: panic: oh"
	add(r, spec.Spec{Measure: spec.Correct, N: 10}, "rival", metrics{spec.Lost: 1})
	all := sections(r)
	require.Len(t, all, 1)
	require.Len(t, all[0].Tables, 1)
	got := all[0].Tables[0]
	assert.Equal(t, "CPU, ns", got.Title)
	assert.Equal(t, []string{"engine", "1,000 pending", "×"}, got.Table.head)
	assert.Equal(t, [][]string{
		{"**ours**", "200 (200 to 201)", "1"},
		{"rival ‡", "**100** (100 to 101)", "0.501"},
		{"other †", "crashed", absent},
	}, got.Table.rows)
}

func TestALoadHasItsFiguresSideBySide(t *testing.T) {
	r := newResults()
	c := spec.Spec{Measure: spec.FullSpeed, Producers: 2, Pending: 100_000}
	add(r, c, "ours", metrics{spec.PerSec: 5e6, spec.LateP99: 8})
	add(r, c, "rival", metrics{spec.PerSec: 4e6, spec.LateP99: 9})
	got := sections(r)[0].Tables[0]
	assert.Equal(t, "100,000 pending, 2 producers", got.Title)
	assert.Equal(t, []string{"engine", "operations a second", "×", "late, p99, ms", "×"}, got.Table.head)
	assert.Equal(t, []string{"**ours**", "**5,000,000**", "1", "**8**", "1"}, got.Table.rows[0], "more is better")
}

func TestNothingIsBoldWhereAllAreLevel(t *testing.T) {
	r := newResults()
	c := spec.Spec{Measure: spec.Cancel}
	add(r, c, "ours", metrics{spec.CPUNs: 100.1})
	add(r, c, "rival", metrics{spec.CPUNs: 100.2})
	assert.Empty(t, bestOf(r, column{c: c, metric: cpu}))
}

func TestTablesShowTheBackgroundsThatMatter(t *testing.T) {
	of := func(pending ...int) (cases []spec.Spec) {
		for _, n := range pending {
			cases = append(cases, spec.Spec{Pending: n})
		}
		return cases
	}
	assert.Equal(t, of(0, 1e6, 1e7), shown(of(0, 1e3, 1e5, 1e6, 1e7)))
	assert.Equal(t, of(0, 1e5), shown(of(0, 1e4, 1e5)), "the most there was")
}

func TestLossesAreClearAndCounted(t *testing.T) {
	r := newResults()
	for pending, its := range map[int]float64{0: 150, 1000: 100, 1_000_000: 199.5} { // the last is level
		c := spec.Spec{Measure: spec.Cancel, Pending: pending}
		add(r, c, "ours", at(spec.CPUNs, 200)...)
		add(r, c, "rival", at(spec.CPUNs, its)...)
		add(r, c, "other", at(spec.CPUNs, 300)...)
	}
	assert.Equal(t, [][]string{
		{"Schedule and cancel", "CPU, ns", "rival", "2", "1,000 pending", "100", "200"},
	}, losses(r).rows)
}

func TestMoreOperationsASecondAreAheadAndOneRoundIsNoted(t *testing.T) {
	r := newResults()
	c := spec.Spec{Measure: spec.FullSpeed, Producers: 1, Pending: 10}
	add(r, c, "ours", metrics{spec.PerSec: 100})
	add(r, c, "rival", metrics{spec.PerSec: 200})
	add(r, c, "other", metrics{spec.PerSec: 50})
	rows := losses(r).rows
	require.Len(t, rows, 1)
	assert.Equal(t, "rival", rows[0][2])
	assert.Contains(t, rows[0][4], "(one round)")
}

func TestAnEngineThatLeavesWorkUndoneIsNotAhead(t *testing.T) {
	c := spec.Spec{Measure: spec.Sustained, Rate: 1000}
	for fault, want := range map[string]int{"": 1, spec.Early: 0, spec.Lost: 0, spec.Behind: 0} {
		r := newResults()
		add(r, c, "ours", metrics{spec.LateP99: 10})
		its := metrics{spec.LateP99: 5}
		its[fault] = 5
		add(r, c, "rival", its)
		assert.Len(t, losses(r).rows, want, fault)
	}
}

func TestTheHighestRateCarried(t *testing.T) {
	r := newResults()
	for rate, m := range map[int]metrics{
		1000: {spec.LateP99: 1, spec.Behind: 0.5}, 2000: {spec.LateP99: 99, spec.Behind: 0}, 3000: {spec.LateP99: 101, spec.Behind: 0},
	} {
		add(r, spec.Spec{Measure: spec.Sustained, Producers: 1, Rate: rate}, "ours", m)
	}
	add(r, spec.Spec{Measure: spec.Sustained, Producers: 1, Rate: 1000}, "rival", metrics{spec.LateP99: 1, spec.Behind: 2})
	assert.Equal(t, [][]string{{"**ours**", "2,000/s"}, {"rival", "none"}}, highestRates(r).Table.rows)
}

func TestWhatWasNotMadeIsBesideTheLateness(t *testing.T) {
	r := newResults()
	add(r, spec.Spec{Measure: spec.Sustained, Rate: 1000}, "ours", metrics{spec.LateP99: 9, spec.Behind: 0.9})
	add(r, spec.Spec{Measure: spec.Sustained, Rate: 1000}, "rival", metrics{spec.LateP99: 3, spec.Behind: 22})
	rows := sections(r)[0].Tables[1].Table.rows
	assert.Equal(t, "**9**", rows[0][1])
	assert.Equal(t, "3, 22 % not made", rows[1][1])
}

func TestFaultsAreThoseOfTheWorstRound(t *testing.T) {
	r := newResults()
	add(r, spec.Spec{Measure: spec.Correct, N: 1000}, "ours", metrics{spec.Early: 0}, metrics{spec.Early: 0})
	add(r, spec.Spec{Measure: spec.Correct, N: 1000}, "rival", metrics{spec.Early: 2}, metrics{spec.Early: 1})
	add(r, spec.Spec{Measure: spec.Moved, N: 1000}, "rival").Failure = "not finished after 1m"
	tables := correctness(r)
	require.Len(t, tables, 2)
	assert.Equal(t, []string{"rival ‡", "1,000", "2", absent, absent, absent, absent, absent}, tables[0].Table.rows[1])
	assert.Equal(t, [][]string{{"rival ‡", "Correctness, 1,000 timeouts", "not finished after 1m"}}, failures(r).rows)
}

func TestTheFloorOfEachRoundIsShown(t *testing.T) {
	r := newResults()
	r.Rounds = []results.Round{
		{Stretches: []results.Stretch{{Before: 50, After: 55}, {Before: 55, After: 52, Repeated: 1}}},
		{Stretches: []results.Stretch{{Before: 60, After: 60}}},
		{}, // not measured
	}
	assert.Equal(t, [][]string{{"1", "2", "50", "55", "10", "1 ×"}, {"2", "1", "60", "60", "0", "0 ×"}}, floors(r).rows)
}

// full returns results with a figure in every measurement and plot.
func full() *results.Results {
	r := newResults()
	r.Machine.Memory = 24 << 30
	for i, k := range r.Engines {
		v := float64(100 * (i + 1))
		for _, m := range measurements {
			for _, n := range []int{1000, 100_000} {
				c := spec.Spec{Measure: m.name, Producers: 1, Pending: n, Rate: n}
				if m.name == spec.Cancel {
					c.Rate = 0
				}
				values := make(metrics)
				for _, metric := range m.metrics {
					values[metric.name] = v
				}
				add(r, c, k.Name, values).Late = [][]float64{make([]float64, len(spec.Shares))}
			}
		}
	}
	add(r, spec.Spec{Measure: spec.Floor}, "", metrics{spec.CPUNs: 50, spec.AllocNs: 20, spec.ClockNs: 20, spec.SwapNs: 10})
	return r
}

func TestThePageIsWrittenWhateverWasMeasured(t *testing.T) {
	for name, r := range map[string]*results.Results{"nothing": {}, "everything": full()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, Write(r, dir))
			text, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
			require.NoError(t, err)
			assert.NotContains(t, string(text), "<no value>")
			assert.NotContains(t, string(text), "NaN")
			assert.False(t, strings.Contains(string(text), "\n\n\n"), "two empty lines")
			for _, plot := range []string{cancelPlot, growthPlot, latenessPlot, sustainedPlot} {
				_, err := os.Stat(filepath.Join(dir, plot))
				assert.Equal(t, name == "everything", err == nil, plot)
				assert.Equal(t, name == "everything", strings.Contains(string(text), plot))
			}
			for _, m := range measurements {
				assert.Equal(t, name == "everything", strings.Contains(string(text), "## "+m.title+"\n"), m.title)
			}
			assert.NoError(t, Tables(new(strings.Builder), r))
		})
	}
}
