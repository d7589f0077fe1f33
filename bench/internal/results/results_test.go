package results

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestARunIsWholeOnceEachCellHasASample(t *testing.T) {
	r := &Results{Cells: []*Cell{{Samples: make([]spec.Sample, 2)}, {}}}
	assert.False(t, r.Whole())
	r.Cells[1].Samples = make([]spec.Sample, 1)
	assert.True(t, r.Whole())
}
