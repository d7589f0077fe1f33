package durable

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestQueueThatIsNeverEmptyStaysSmall(t *testing.T) {
	q := newQueue(func() {})
	q.put(&flight{stage: waiting})
	for range 10_000 {
		h := &flight{stage: waiting}
		q.put(h)
		q.get()
		require.LessOrEqual(t, cap(q.items.plain.rows), 64)
	}
	require.Equal(t, 1, q.len())
}

// Each goroutine that was woken blocks right after get: it has woken the next one by then.
func TestQueueWakesAGoroutinePerRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(func() {})
		var taken atomic.Int64
		proceed := make(chan struct{})
		for range 20 {
			go func() {
				for q.get() != nil {
					taken.Add(1)
					<-proceed
				}
			}()
		}
		synctest.Wait()
		for range 15 {
			q.put(&flight{stage: waiting})
		}
		synctest.Wait()
		require.EqualValues(t, 15, taken.Load())
		q.put(&flight{stage: waiting}) // to one that has waited throughout
		synctest.Wait()
		require.EqualValues(t, 16, taken.Load())
		close(proceed)
		q.close()
	})
}

// Goroutines start as they are needed: one for each row that finds all of them busy.
func TestQueueStartsOnlyNeededGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *queue
		var started, taken atomic.Int64
		proceed := make(chan struct{})
		q = newQueue(func() {
			if started.Add(1) > 3 {
				started.Add(-1)
				return
			}
			go func() {
				for q.get() != nil {
					taken.Add(1)
					<-proceed
				}
			}()
		})
		for i := range int64(5) {
			q.put(&flight{stage: waiting})
			synctest.Wait()
			require.Equal(t, min(i+1, 3), started.Load())
		}
		require.EqualValues(t, 3, taken.Load())
		for range 5 {
			proceed <- struct{}{}
		}
		synctest.Wait()
		require.EqualValues(t, 5, taken.Load())
		for range 10 {
			q.put(&flight{stage: waiting})
			synctest.Wait()
			proceed <- struct{}{}
			synctest.Wait()
		}
		require.EqualValues(t, 3, started.Load())
		q.close()
	})
}
