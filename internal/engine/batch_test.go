package engine

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func batchOf(n int) []hwt.TimerTask {
	tasks := make([]hwt.TimerTask, n)
	for i := range tasks {
		tasks[i] = hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	}
	return tasks
}

func TestBatchIsSpreadOverTheWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for size, want := range map[int]int{1: 1, 2*spreadEach - 1: 1, 2 * spreadEach: 2, 3 * spreadEach: 3, 10 * spreadEach: 3} {
			h := newWorkers(t, 3)
			all, err := h.NewTimeouts(batchOf(size), time.Hour)
			require.NoError(t, err)
			used, most := 0, int64(0)
			for i := range h.workers {
				n := h.workers[i : i+1].pending()
				most = max(most, n)
				if n > 0 {
					used++
				}
			}
			assert.Equal(t, want, used, size)
			assert.LessOrEqual(t, most, int64(size/want+1), size)
			assert.True(t, all[size-1].Cancel())
			pass(2 * time.Hour)
			assert.EqualValues(t, size-1, h.Stats().Expired)
			assert.Empty(t, h.Stop())
		}
	})
}

// On the real clock, because Stop races with the pushes.
func TestStopComesBeforeAWholeBatchOrAfterIt(t *testing.T) {
	const size = 100_000
	tasks := batchOf(size)
	for range enginetest.Effort(30, 10, 10) {
		h := newWorkers(t, 2)
		var batch []hwt.Timeout
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { batch, err = h.NewTimeouts(tasks, time.Hour) })
		for h.Pending() == 0 { // until the first part is about to be pushed
		}
		unprocessed := h.Stop()
		wg.Wait()
		if err != nil {
			require.ErrorIs(t, err, hwt.ErrStopped)
			require.Nil(t, batch)
			require.Empty(t, unprocessed)
			continue
		}
		require.Len(t, unprocessed, size)
	}
}
