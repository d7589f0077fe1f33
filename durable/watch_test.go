package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestALateMeasurementDoesNotReplaceANewerOne has two measurements at a time, of
// which the one that began first ends last.
func TestALateMeasurementDoesNotReplaceANewerOne(t *testing.T) {
	z := &sizes{stats: Stats{Shards: make([]ShardStats, 1)}}
	measured := func(dead int64) Stats { return Stats{Dead: dead, Shards: []ShardStats{{Dead: dead}}} }
	first, second := z.begin(), z.begin()
	z.shard(0, func(st *ShardStats) { st.Lag = time.Second })
	z.store(second, measured(2))
	z.store(first, measured(1))
	assert.EqualValues(t, 2, z.load().Dead)
	assert.EqualValues(t, 2, z.load().Shards[0].Dead)
	assert.Equal(t, time.Second, z.load().Shards[0].Lag, "of the canary")
	z.store(z.begin(), measured(3))
	assert.EqualValues(t, 3, z.load().Dead)
}
