package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestSummaryReplacesTheReadmesTable(t *testing.T) {
	r := &results.Results{Engines: []engines.Kind{{Name: "ours", Ours: true}, {Name: "antlabs"}, {Name: "other"}}}
	for _, pending := range []int{1e6, 1e5} {
		c := spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: pending}
		add(r, c, "ours", metrics{spec.CPUNs: float64(pending)})
		add(r, c, "antlabs", metrics{spec.CPUNs: 1.5e6})
	}
	add(r, spec.Spec{Measure: spec.Expire, N: 1e6}, "ours", metrics{spec.LateP99: 2})
	add(r, spec.Spec{Measure: spec.Correct, N: 200}, "antlabs", metrics{spec.Early: 50, spec.Lost: 1})
	add(r, spec.Spec{Measure: spec.Moved, N: 100}, "antlabs", metrics{spec.Early: 50})

	dir := t.TempDir()
	docs, readme := filepath.Join(dir, "docs"), filepath.Join(dir, "README.md")
	require.NoError(t, writeSummary(r, docs), "there is none")
	require.NoError(t, os.WriteFile(readme, []byte("before\n"+summaryBegin+"| old |\n"+summaryEnd+"after\n"), 0o600))
	require.NoError(t, writeSummary(r, docs))
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+summaryBegin+"\n"+
		"| engine | CPU: schedule, cancel | CPU: expire | late, p99, ms | heap each, bytes | wrong |\n"+
		"| :-- | --: | --: | --: | --: | --: |\n"+
		"| **`ours`** | 1 | – | 2 | – | nothing |\n"+
		"| antlabs/timer | 1.5 | – | – | – | 50 % early, some lost |\n\n"+summaryEnd+"after\n", string(text))

	require.NoError(t, os.WriteFile(readme, []byte("no place\n"), 0o600))
	require.NoError(t, writeSummary(r, docs))
	text, err = os.ReadFile(readme)
	require.NoError(t, err)
	assert.Equal(t, "no place\n", string(text))
}

// TestTheReadmesFiguresAreThePublishedData writes the README's table anew from
// docs/benchmarks.jsonl: no figure in it is from elsewhere.
// go -C bench run . --render ../docs/benchmarks.jsonl renews it.
func TestTheReadmesFiguresAreThePublishedData(t *testing.T) {
	const root = "../../.."
	r, err := results.Read(filepath.Join(root, "docs", "benchmarks.jsonl"))
	require.NoError(t, err)
	published, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(published), summaryBegin)
	dir := t.TempDir()
	readme := filepath.Join(dir, "README.md")
	require.NoError(t, os.WriteFile(readme, published, 0o600))
	require.NoError(t, writeSummary(r, filepath.Join(dir, "docs")))
	rendered, err := os.ReadFile(readme)
	require.NoError(t, err)
	assert.Equal(t, string(published), string(rendered))
}
