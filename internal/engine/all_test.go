package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// What a loop has not come to becomes due, and waits behind a task that holds the
// worker (A2).
func TestAllYieldsWhatBecomesDueMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 10 * chunkLen
		e := newIdleTimer(t)
		for range n {
			e.after(t, 2*tick, nothing)
		}
		e.settle(t)
		e.core.sleeper.Load().stop() // the worker is the test
		seen := map[hwt.Timeout]int{}
		for timeout := range e.All() {
			if seen[timeout]++; len(seen) == 1 {
				time.Sleep(2 * tick)
				for !e.core.running {
					require.Equal(t, goOn, e.step())
				}
			}
		}
		assert.Len(t, seen, n)
		for _, times := range seen {
			assert.Equal(t, 1, times)
		}
		e.core.fire()
		assert.EqualValues(t, n, e.Stats().Expired)
	})
}
