package durable

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestAWindowKeepsAnswersFromTimingOut has a server that answers one write after
// another.
func TestAWindowKeepsAnswersFromTimingOut(t *testing.T) {
	for _, each := range []time.Duration{20 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			const timeout = 2 * time.Second
			w := newWindow(ctx, timeout)
			queue := make(chan time.Time, 2*windowMost)
			go func() {
				for sent := range queue {
					time.Sleep(each)
					w.answered(time.Since(sent))
					w.leave()
					assert.Less(t, time.Since(sent), timeout, "%v a write", each)
				}
			}()
			began, most := time.Now(), 0
			const n = 20_000
			for range n {
				assert.True(t, w.enter())
				queue <- time.Now()
				most = max(most, len(queue))
			}
			close(queue)
			assert.Less(t, time.Since(began), n*each+time.Second, "the server is never idle for long")
			assert.Greater(t, most, windowLeast)
			synctest.Wait()
			time.Sleep(time.Minute)
		})
	}
}

func TestAWindowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := newWindow(ctx, time.Second)
		entered := 0
		for w.enter() {
			entered++
		}
		assert.Equal(t, windowFirst, entered)
		w.leave()
		assert.False(t, w.enter())
	})
}
