package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// selectFrom returns the delays that the list shows of timeouts that are due one per
// interval.
func selectFrom(n int, interval time.Duration) (delays []time.Duration, sampled bool) {
	start := time.Now()
	u := newUpcoming(start)
	for i := n; i > 0; i-- {
		u.add(start.Add(time.Duration(i)*interval), nil)
	}
	list, sampled := u.sorted()
	for _, d := range list {
		delays = append(delays, d.at.Sub(start))
	}
	return delays, sampled
}

func TestNextTimeoutsLastUntilTheNextScan(t *testing.T) {
	delays, sampled := selectFrom(100_000, time.Millisecond)
	assert.True(t, sampled)
	assert.IsIncreasing(t, delays, "in order, each once")
	for i := range firstNext {
		require.Equal(t, time.Duration(i+1)*time.Millisecond, delays[i], "the first are complete")
	}
	for at := time.Duration(0); at < 2*scanEvery; at += slotSpan {
		later := 0
		for _, d := range delays {
			if d > at {
				later++
			}
		}
		assert.GreaterOrEqual(t, later, perSlot, "still due %v after the scan", at)
	}
}

func TestFewNextTimeoutsAreListedCompletely(t *testing.T) {
	delays, sampled := selectFrom(firstNext-1, time.Hour)
	assert.False(t, sampled)
	assert.Len(t, delays, firstNext-1)

	delays, sampled = selectFrom(1000, time.Minute)
	assert.False(t, sampled)
	assert.Len(t, delays, firstNext)
}
