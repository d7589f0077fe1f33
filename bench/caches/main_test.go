package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageHasEveryTable(t *testing.T) {
	page, err := quick.page()
	require.NoError(t, err)
	for _, want := range []string{"| 0 % sets |", "| 100 % sets, with a limit |", "| an entry, with a limit |", "| Zipf with scans |"} {
		assert.Contains(t, page, want)
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			assert.Contains(t, []int{len(rivals) + 2, 2*len(rivals) + 1}, strings.Count(line, "|"), line)
		}
	}
}

func TestHitRatesAreNoWorseThanThoseOfGolangLRU(t *testing.T) {
	l := full
	if testing.Short() {
		l.trace = 1 << 18
	}
	for _, trace := range l.traces() {
		percent, err := l.hits(trace)
		require.NoError(t, err)
		t.Logf("%s: %.1f", trace.name, percent)
		ours, lru := percent[0], percent[len(percent)-1]
		assert.GreaterOrEqual(t, ours, lru-0.1, trace.name)
	}
}
