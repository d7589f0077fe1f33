package enginekit_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

func TestLimitWithoutAMaximumRejectsNoTimeout(t *testing.T) {
	for _, n := range []int64{math.MinInt64, -1, 0} {
		l := enginekit.NewLimit(n)
		for range 100 {
			require.NoError(t, l.Take(1))
		}
		assert.Zero(t, l.Max())
		assert.Zero(t, l.Rejected())
		l.Give(1000)
		assert.NoError(t, l.Take(1))
	}
}

func TestTakeTakesAllPlacesOrNone(t *testing.T) {
	l := enginekit.NewLimit(5)
	require.NoError(t, l.Take(3))
	var full *hwt.PendingLimitError
	require.ErrorAs(t, l.Take(3), &full)
	assert.Equal(t, hwt.PendingLimitError{Pending: 6, Max: 5}, *full)
	assert.EqualValues(t, 1, l.Rejected(), "a call counts once")
	assert.NoError(t, l.Take(2))
	assert.Error(t, l.Take(math.MaxInt64))
}

func TestTakeBeyondTheMaximumIsRejected(t *testing.T) {
	l := enginekit.NewLimit(2)
	assert.EqualValues(t, 2, l.Max())
	require.NoError(t, l.Take(1))
	require.NoError(t, l.Take(1))
	for range 3 {
		var full *hwt.PendingLimitError
		require.ErrorAs(t, l.Take(1), &full)
		assert.Equal(t, hwt.PendingLimitError{Pending: 3, Max: 2}, *full)
	}
	assert.EqualValues(t, 3, l.Rejected())
	l.Give(1)
	assert.NoError(t, l.Take(1))
	assert.Error(t, l.Take(1))
}

// The real clock, to let processors race for the last places.
func TestTakeFailsOnlyIfAllPlacesAreTaken(t *testing.T) {
	const callers, most = 8, 4
	l := enginekit.NewLimit(most)
	var holding, rejected int64
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range 10_000 {
				if l.Take(1) != nil {
					mu.Lock()
					rejected++
					mu.Unlock()
					continue
				}
				mu.Lock()
				holding++
				assert.LessOrEqual(t, holding, int64(most))
				holding--
				mu.Unlock()
				l.Give(1)
			}
		})
	}
	all.Wait()
	assert.Equal(t, rejected, l.Rejected())
	for range most {
		assert.NoError(t, l.Take(1), "all places are free again")
	}
}
