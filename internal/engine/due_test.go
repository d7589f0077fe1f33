package engine

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// due takes a step of the worker, which collects the timeouts scheduled so far. They are
// due, and not yet fired.
func (e *timer) due(t *testing.T) {
	t.Helper()
	time.Sleep(tick)
	require.Equal(t, goOn, e.step())
	require.True(t, e.core.firing.running)
}

// The timeout is in no queue and no bucket when Stop begins.
func TestStopFindsATimeoutResetWhileDue(t *testing.T) {
	for name, reset := range map[string]func(*Timeout){
		"to later":              func(timeout *Timeout) { timeout.Reset(time.Hour) },
		"to later, then sooner": func(timeout *Timeout) { timeout.Reset(2 * time.Hour); timeout.Reset(time.Hour) },
	} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t)
			timeout := e.after(t, 0, nothing)
			e.due(t)
			e.shut()
			reset(timeout)
			e.core.worker.fire()
			assert.Equal(t, quit, e.step(), "no more ticks")
			assert.Equal(t, []hwt.Timeout{timeout}, e.core.takeAll(nil), name)
			close(e.core.worker.takenOver)
			assert.Nil(t, e.core.firing.due)
			s := e.balanced(t)
			assert.EqualValues(t, 1, s.Unprocessed)
		})
	}
}

// The worker finds the timeout reset to later while it was due. Another Reset has set
// queued, but has not pushed yet. Stop must still find the timeout.
func TestStopFindsATimeoutResetTwiceWhileDue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, tick, nothing)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		require.Equal(t, nodes(timeout), e.core.firing.due)

		require.True(t, timeout.Reset(time.Hour)) // later: only the word changes
		e.core.firing.fire(timeout)
		deadline := e.core.env.clock.Now() + int64(tick)
		was, ok := timeout.state.rearm(deadline) // a Reset before its push
		require.True(t, ok && was&queued == 0)
		e.core.worker.endFiring()

		assert.Equal(t, []hwt.Timeout{timeout}, e.Stop())
		timeout.home.pushAdvanced(timeout, was, deadline)
		e.balanced(t)
	})
}

func TestTimeoutResetWhileDueRunsAtItsNewTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stripe, so that tasks run in order
	inBubble(t, func(t *testing.T) {
		for _, delay := range []time.Duration{0, tick / 2, tick, 3 * tick, time.Hour} {
			e := newTimer(t)
			begin, ran := time.Now(), time.Duration(0)
			var second atomic.Pointer[Timeout]
			e.after(t, tick, func() { assert.True(t, second.Load().Reset(delay)) })
			second.Store(e.after(t, tick, func() { ran = time.Since(begin) }))
			pass(2 * time.Hour)
			want := tick + max((delay+tick-1)/tick, 0)*tick
			if delay <= 0 {
				want = tick // still due
			}
			assert.Equal(t, want, ran, "reset by %v", delay)
			e.Stop()
		}
	})
}

// The tick divides forever, so a tick occurs exactly at that time.
func TestEndlessDelayNeverExpiresAtAnyTick(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, d := range []time.Duration{math.MaxInt32, tick} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t, func(c *Config) { c.Tick = d })
			endless := e.after(t, longest, nothing)
			late := e.after(t, forever/2, nothing)
			pass(forever + 2*d)
			assert.False(t, endless.IsExpired(), "tick %v", d)
			assert.True(t, late.IsExpired(), "tick %v", d)
			e.core.nudge() // a token brings the worker past the tick
			pass(d)
			assert.False(t, endless.IsExpired(), "tick %v", d)
			assert.EqualValues(t, 1, e.Pending())
		})
	}
}
