package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestTheLargestShareIsTheWorst(t *testing.T) {
	r := &results.Results{Engines: []engines.Kind{{Name: "rival"}}}
	add := func(measure string, n int, early float64) {
		r.Cells = append(r.Cells, &results.Cell{
			Spec:    spec.Spec{Measure: measure, Engine: "rival", N: n},
			Samples: []spec.Sample{{Metrics: map[string]float64{spec.Early: early}}},
		})
	}
	add(spec.Correct, 200_000, 150_000)
	add(spec.Expire, 1_000_000, 200_000)
	assert.Equal(t, "early: 75.0 %", faults(r, "rival"))
}

func TestEveryFaultIsExplainedAndHasAColumn(t *testing.T) {
	table := correctness(small(200, 300))[0].Table.String()
	for _, fault := range glossary() {
		assert.NotEmpty(t, fault.Text, fault.Name)
		assert.Contains(t, table, "| "+fault.Name+" |")
	}
	assert.Contains(t, table, "| faulty | 1,000 | 201 |")
}

func TestEveryEngineIsExplained(t *testing.T) {
	for _, k := range engines.All() {
		assert.NotEmpty(t, abouts[k.Name].why, k.Name)
		assert.NotEmpty(t, abouts[k.Name].tasks, k.Name)
	}
}
