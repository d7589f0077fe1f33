package engine

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWorkerCatchesUpInOrderAfterALag(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var order []int
		e.after(t, tick, func() { time.Sleep(3000*tick + tick/2) })
		for i := range 2000 {
			at := (i*7919)%2000 + 2 // in no order
			e.after(t, time.Duration(at)*tick, func() { order = append(order, at) })
		}
		var onTime int64
		e.after(t, 3005*tick, func() { onTime = e.core.env.clock.Now() })
		pass(3010 * tick)
		require.Len(t, order, 2000)
		for i, at := range order {
			require.Equal(t, i+2, at)
		}
		assert.EqualValues(t, 3005*tick, onTime, "the worker has caught up")
		assert.Equal(t, 2999*tick+tick/2, e.Stats().MaxLag)
	})
}

func TestLagOfEmptyTicksIsSkipped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(1_000_000 * tick) })
		e.after(t, 500_000*tick, nothing)
		e.after(t, 2_000_000*tick, nothing)
		pass(1_000_010 * tick)
		assert.Less(t, e.Stats().Ticks, int64(10))
		assert.EqualValues(t, 1, e.Pending())
	})
}

func TestGoexitOfATaskDelaysNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var order []int
		for i := range 100 {
			e.after(t, tick, func() {
				order = append(order, i)
				if i%10 == 9 {
					runtime.Goexit()
				}
			})
		}
		tasks := make([]*noticeTask, 10)
		for i := range tasks {
			tasks[i] = &noticeTask{then: runtime.Goexit}
			e.add(t, tasks[i], time.Hour).Cancel()
		}
		pass(2 * tick)
		slices.Sort(order) // they may have passed through two stripes
		require.Len(t, order, 100)
		for i := range order {
			require.Equal(t, i, order[i], "each once")
		}
		for _, c := range tasks {
			assert.Equal(t, [2]int{0, 1}, c.counts())
		}
		assert.Len(t, e.errs, 20)
		assert.EqualValues(t, 100, e.balanced(t).Expired)
		e.after(t, tick, func() { order = nil })
		pass(3 * tick)
		assert.Empty(t, order, "the new worker works")
	})
}

func TestTimeoutResetWhileDueIsAddedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var timeouts [3]*Timeout
		var ran []int64
		known := make(chan struct{})
		for i := range timeouts { // due in one tick, in any order
			timeouts[i] = e.after(t, tick, func() {
				<-known
				if ran = append(ran, e.core.env.clock.Now()); len(ran) > 1 {
					return
				}
				later, sooner := timeouts[(i+1)%3], timeouts[(i+2)%3]
				assert.True(t, later.Reset(5*tick))
				assert.True(t, sooner.Reset(50*tick))
				assert.True(t, sooner.Reset(3*tick))
			})
		}
		close(known)
		pass(100 * tick)
		assert.Equal(t, []int64{int64(tick), int64(4 * tick), int64(6 * tick)}, ran)
	})
}

func TestResetToSoonerMovesTheTimeoutAtTheNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var ran []int64
		timeout := e.after(t, 100*tick, func() { ran = append(ran, e.core.env.clock.Now()) })
		pass(5 * tick)
		timeout.Reset(50 * tick)
		pass(tick)
		e.core.mu.Lock()
		assert.Equal(t, map[*Timeout]addition{timeout: {55, 2}}, e.wheel.added)
		e.core.mu.Unlock()
		pass(200 * tick)
		assert.Equal(t, []int64{int64(55 * tick)}, ran)
	})
}

func TestResetToLaterMovesTheTimeoutAtItsOldTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		timeout := e.after(t, 100*tick, nothing)
		pass(2 * tick)
		for range 50 {
			timeout.Reset(100 * tick)
			pass(tick)
		}
		adds := func() int {
			e.core.mu.Lock()
			defer e.core.mu.Unlock()
			return e.wheel.adds
		}
		assert.Equal(t, 1, adds())
		pass(60 * tick)
		assert.Equal(t, 2, adds())
		pass(100 * tick)
		assert.Zero(t, e.Pending())
	})
}

func TestFiredTimeoutsAreReleased(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for range maxSpareCap + 1 {
			e.after(t, tick, nothing)
		}
		pass(3 * tick)
		assert.Nil(t, e.core.firing.due, "too large to keep")
		for range 10 {
			e.after(t, tick, nothing)
			e.add(t, new(noticeTask), time.Hour).Cancel()
		}
		pass(3 * tick)
		assert.Empty(t, e.core.firing.due)
		for _, node := range e.core.firing.due[:cap(e.core.firing.due)] {
			assert.Nil(t, node)
		}
		for _, timeout := range e.core.firing.notices[:cap(e.core.firing.notices)] {
			assert.Nil(t, timeout)
		}
		assert.Zero(t, e.core.schedule.batch)
	})
}
