package engine

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// Timeouts that a loop has not visited become due, and wait behind a task that blocks the
// worker (A2).
func TestAllYieldsTimeoutsThatBecomeDue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 10 * store.MaxVisit
		e := newIdleTimer(t)
		for range n {
			e.after(t, 2*tick, nothing)
		}
		e.finish(t)
		e.core.worker.sleeper.Load().stop() // the test is the worker
		seen := map[hwt.Timeout]int{}
		for timeout := range e.All() {
			if seen[timeout]++; len(seen) == 1 {
				time.Sleep(2 * tick)
				for !e.core.firing.running {
					require.Equal(t, goOn, e.step())
				}
			}
		}
		assert.Len(t, seen, n)
		for _, times := range seen {
			assert.Equal(t, 1, times)
		}
		e.core.worker.fire()
		assert.EqualValues(t, n, e.Stats().Expired)
	})
}

// Other callers schedule and cancel while a loop drains the intake. Their timeouts do not
// count as the loop's (A1).
func TestAllDrainsItsBacklogWhileOthersCancel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stripe
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		backlog := e.flood(t, 3*maxWalkBatch)
		s := &e.core.intake.stripes[0]
		for left := int64(math.MaxInt64); left > 0; {
			left = newWalk(e.core, 1).drainSome(s, &s.added, left)
			for _, newer := range e.flood(t, maxWalkBatch) {
				require.True(t, newer.Cancel())
			}
		}
		missed := 0
		for _, timeout := range backlog {
			if _, in := e.wheel.added[timeout]; !in {
				missed++
			}
		}
		assert.Zero(t, missed)
	})
}
