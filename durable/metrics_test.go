package durable

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/metrics"
)

func TestEachMetricHasANameAndItsValue(t *testing.T) {
	s := &Store{guard: &guard{}, offset: &offset{}}
	s.sizes.stats = Stats{Time: time.Unix(100, 0), Pending: 7, Shards: []ShardStats{
		{Lag: time.Second, Canary: time.Unix(95, 0), Overdue: 4 * time.Second}, {Lag: 2 * time.Second, Canary: time.Unix(98, 0)}}}
	s.counts.fired.Store(3)
	s.counts.lateness.note(2 * time.Millisecond)
	s.counts.claims.note(time.Second)
	source := s.Metrics()
	descs, values := source.Describe(), source.Read()
	assert.Len(t, values, len(descs))
	byName := map[string]metrics.Value{}
	for i, d := range descs {
		assert.Regexp(t, regexp.MustCompile(`^durable\.[a-z]+(_[a-z]+)*$`), d.Name)
		assert.NotEmpty(t, d.Help)
		assert.NotContains(t, byName, d.Name)
		byName[d.Name] = values[i]
	}
	assert.EqualValues(t, 7, byName["durable.pending"].Number)
	assert.EqualValues(t, 3, byName["durable.fired"].Number)
	assert.EqualValues(t, 2, byName["durable.lag"].Number)
	assert.EqualValues(t, 5, byName["durable.canary_age"].Number)
	assert.EqualValues(t, 4, byName["durable.overdue"].Number)
	late := byName["durable.lateness"]
	assert.InDelta(t, 0.002, late.Number, 1e-9)
	assert.True(t, math.IsInf(late.Buckets[len(late.Buckets)-1].Bound, 1))
	total := uint64(0)
	for _, b := range late.Buckets {
		total += b.Count
	}
	assert.EqualValues(t, 1, total)
	assert.InDelta(t, 1, byName["durable.claim_time"].Number, 1e-9)
}
