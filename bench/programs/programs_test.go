package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// TestMain runs the clients of a program, which starts them by the path of its process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "--clients=") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEachSideRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, p := range programs {
		for _, side := range p.sides {
			assert.Positive(t, side.run(1000).CPU, "%s, %s", p.name, side.name)
		}
	}
}

func TestDifferencesAreThoseOfAllRounds(t *testing.T) {
	a, b := stats.Of([]float64{1, 2, 3}), stats.Of([]float64{4, 5, 6})
	assert.Equal(t, "0.4 times the CPU", difference(a, b, "CPU"))
	assert.Equal(t, "2.5 times the CPU", difference(b, a, "CPU"))
	assert.Equal(t, "no difference in CPU", difference(a, stats.Of([]float64{3, 4, 5}), "CPU"))
	assert.Equal(t, "1/1,000 of the CPU", difference(stats.Of([]float64{0.001}), stats.Of([]float64{1}), "CPU"))
	assert.Empty(t, difference(a, stats.Of([]float64{0}), "CPU"))
}

func TestDataIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "programs.jsonl")
	all := []measured{
		{"burst", "time.AfterFunc", sample{CPU: 4, HeapMB: 2, LateP99: 3}},
		{"burst", "`hashedwheel`", sample{CPU: 1, HeapMB: 2, LateP99: 0.5}},
		{"gone", "a program that was dropped", sample{}},
	}
	require.NoError(t, writeData(file, all))
	read, err := readData(file)
	require.NoError(t, err)
	assert.Equal(t, all, read)
	page := render(compared(read))
	assert.Contains(t, page, "| time.AfterFunc | 4 | 4 | 2 | 3 |")
	assert.Contains(t, page, "`hashedwheel` beside time.AfterFunc:\n  0.25 times")
	require.NoError(t, os.WriteFile(file, []byte("{\n"), 0o600))
	_, err = readData(file)
	assert.Error(t, err)
}

func TestLinesAreWrapped(t *testing.T) {
	assert.Equal(t, "a bc\ndef\ng", wrap("a bc def  g", 4))
}

// TestPublishedPageShowsThePublishedData renders the published data again.
func TestPublishedPageShowsThePublishedData(t *testing.T) {
	all, err := readData("../../docs/programs.jsonl")
	require.NoError(t, err)
	published, err := os.ReadFile("../../docs/programs.md")
	require.NoError(t, err)
	machine := regexp.MustCompile(`measured with \S+ on \d+ cores`)
	assert.Equal(t, machine.ReplaceAllString(string(published), ""), machine.ReplaceAllString(render(compared(all)), ""))
}
