package enginekit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// readers are two counts. One task has begun and not ended. Before the read with the number
// preempted, 70,000 tasks begin and end.
type readers struct{ begun, ended, reads, preempted int64 }

func (r *readers) read(count *int64) func() int64 {
	return func() int64 {
		if r.reads++; r.reads == r.preempted {
			r.begun, r.ended = r.begun+70_000, r.ended+70_000
		}
		return *count
	}
}

func TestBetweenOfAPreemptedReaderIsExact(t *testing.T) {
	for preempted := range int64(5) {
		r := &readers{begun: 8, ended: 7, preempted: preempted}
		least, most := Between(r.read(&r.begun), r.read(&r.ended))
		assert.EqualValues(t, 1, least, preempted)
		assert.EqualValues(t, 1, most, preempted)
	}
}

// Ten tasks begin and end between any two reads.
func TestBetweenWithoutRestIsBounded(t *testing.T) {
	begun, ended := int64(3), int64(0)
	pass := func(count *int64) func() int64 {
		return func() int64 {
			begun, ended = begun+10, ended+10
			return *count
		}
	}
	least, most := Between(pass(&begun), pass(&ended))
	assert.LessOrEqual(t, least, int64(3))
	assert.GreaterOrEqual(t, least, int64(0))
	assert.GreaterOrEqual(t, most, int64(3))
	assert.LessOrEqual(t, most, int64(13))
	assert.EqualValues(t, 3+10*(2*maxReads+1), begun)
}
