package runtimetimer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScheduleAndCancelAllocateOnce(t *testing.T) {
	timer := newTimer(t)
	once := func() {
		timeout, _ := timer.NewTimeout(idle, time.Hour)
		timeout.Cancel()
	}
	for range 100 * timer.Shards() { // until every shard has a spare entry
		once()
	}
	assert.EqualValues(t, 1, testing.AllocsPerRun(1000, once))
}

func TestResetDoesNotAllocate(t *testing.T) {
	timeout, err := newTimer(t).NewTimeout(idle, time.Hour)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { timeout.Reset(time.Hour) }))
}
