package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

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

func TestRatiosAreOfTheSameRound(t *testing.T) {
	c := comparison{program{sides: make([]side, 2)}, [][]sample{
		{{CPU: 1}, {CPU: 10}, {CPU: 100}},
		{{CPU: 2}, {CPU: 21}, {CPU: 220}},
	}}
	assert.Equal(t, "**2.10 (2.00–2.20)**", c.ratio(0, cpu))
	assert.Equal(t, "–", c.ratio(0, heap))
	c.samples[0][0].CPU = 3
	assert.Equal(t, "2.10 (0.67–2.20)", c.ratio(0, cpu))
	for i := range c.samples {
		c.samples[i] = append(c.samples[i], slices.Repeat(c.samples[i][1:2], 10)...)
	}
	assert.Equal(t, "2.10 (0.67–2.20)", c.ratio(0, cpu), "the range of many rounds")
}

func TestPageHasTheRatios(t *testing.T) {
	page := render([]comparison{{sessions, [][]sample{{{CPU: 4, HeapMB: 2}}, {{CPU: 1, HeapMB: 2}}}}})
	assert.Contains(t, page, "| A session cache | `cache` | patrickmn/go-cache | **0.25 (0.25–0.25)** | 1.00 (1.00–1.00) |\n")
}
