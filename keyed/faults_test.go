package keyed_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// These tests check for faults of other keyed wheels. Each comment describes the fault.

// A move to a bucket on the other side of the current tick expires one rotation
// early or late.
func TestMovesAcrossTheCurrentTickAtEveryPosition(t *testing.T) {
	for _, size := range []int{1, 4, 8} {
		enginetest.Bubble(t, func(t *testing.T) {
			w, r := newWheel(t, newTimer(t, size))
			time.Sleep(tick / 2) // each step below is between two ticks
			type move struct{ key, ticks int }
			plan := map[int][]move{} // index: the step at which the key is moved
			due := map[int]time.Time{}
			for step := range 4*size + 2 {
				for first := 1; step < size && first <= 2*size+1; first++ {
					for elapsed := range first {
						for second := range 2*size + 2 {
							key := len(due)
							due[key] = time.Time{}
							set(t, w, key, 0, time.Duration(first)*tick)
							plan[step+elapsed] = append(plan[step+elapsed], move{key, second})
						}
					}
				}
				for _, m := range plan[step] {
					delay := time.Duration(m.ticks) * tick
					moved, err := w.Move(m.key, delay)
					require.NoError(t, err)
					require.True(t, moved)
					due[m.key] = time.Now().Add(delay)
				}
				pass(tick)
			}
			pass(time.Minute)
			events := r.take()
			require.Len(t, events, len(due), "each fires once")
			for _, e := range events {
				assert.WithinRange(t, e.at, due[e.key], due[e.key].Add(tick), "size %d, key %d", size, e.key)
				delete(due, e.key)
			}
			assert.Empty(t, due)
		})
	}
}

// A new delay below one tick fires the pair immediately, and again at its old time.
func TestMoveBelowOneTickFiresOnce(t *testing.T) {
	for _, delay := range []time.Duration{-1, 0, 1, tick - 1} {
		onEngines(t, func(t *testing.T, timer hwt.Timer) {
			w, r := newWheel(t, timer)
			set(t, w, 1, 11, 3*tick)
			move(t, w, 1, delay)
			pass(2 * tick)
			assert.Equal(t, []int{11}, r.values())
			assert.False(t, w.Has(1))
			pass(time.Minute)
			assert.Empty(t, r.take())
		})
	}
}

// Setting a known key with a delay below one tick fires it twice.
func TestSetOnAKnownKeyBelowOneTickFiresOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		set(t, w, 1, 12, 1)
		pass(time.Minute)
		assert.Equal(t, []int{12}, r.values())
	})
}

// Drain does not remove the keys. A later Set moves them, and they never fire.
func TestPairSetAfterADrainFires(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		for range 3 {
			set(t, w, 1, 11, time.Second)
			require.NoError(t, w.Drain(func(keyed.Entry[int, int]) {}))
			moved, err := w.Move(1, time.Second)
			require.NoError(t, err)
			assert.False(t, moved)
			set(t, w, 1, 12, time.Second)
			pass(2 * time.Second)
			assert.Equal(t, []int{12}, r.values())
		}
	})
}

// A drain callback that schedules waits for the draining goroutine, forever.
func TestSchedulingInsideADrainDoesNotDeadlock(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer, keyed.Options[int, int]{DrainWorkers: 1})
		for key := range 20 {
			set(t, w, key, key, time.Hour)
		}
		require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) { set(t, w, e.Key, e.Value, time.Second) }))
		pass(time.Minute)
		assert.Len(t, r.take(), 20)
	})
}

// A second stop panics; a Set after it is lost or blocks forever.
func TestCloseTwiceAndScheduleAfterwards(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, _ := newWheel(t, timer)
		w.Close()
		assert.NotPanics(t, func() { w.Close() })
		assert.ErrorIs(t, w.Set(1, 1, time.Second), keyed.ErrClosed)
	})
}

// The zero value of a key is rejected, or treated as no key.
func TestZeroKeyIsValid(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 0, 0, time.Second)
		pass(2 * time.Second)
		assert.Equal(t, []int{0}, r.values())
	})
}

// A delay that is not a whole number of ticks is rounded down and fires early.
func TestDelayBetweenTicksIsNeverEarly(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		want := map[int]time.Time{}
		for key := range 100 {
			delay := time.Duration(key) * (tick/7 + 1)
			want[key] = time.Now().Add(delay)
			set(t, w, key, 0, delay)
			time.Sleep(tick / 3)
		}
		pass(time.Minute)
		events := r.take()
		assert.Len(t, events, 100)
		for _, e := range events {
			assert.WithinRange(t, e.at, want[e.key], want[e.key].Add(tick))
		}
	})
}

// The longest delay overflows and fires immediately.
func TestLongestDelayDoesNotOverflow(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		time.Sleep(time.Second)
		set(t, w, 1, 11, math.MaxInt64)
		pass(time.Minute)
		assert.Empty(t, r.take())
	})
}

// broken is a timer that panics.
type broken struct{ hwt.Timer }

func (broken) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) { panic("broken") }

// A timer that panics leaves a lock held.
func TestTimerThatPanicsLeavesNoLock(t *testing.T) {
	w, err := keyed.New(broken{}, func(int, int) {}, nil)
	require.NoError(t, err)
	for range 2 {
		var cause *hwt.PanicError
		require.ErrorAs(t, w.Set(1, 1, time.Second), &cause)
		assert.Equal(t, "broken", cause.Value)
	}
	assert.Zero(t, w.Len())
	w.Close()
}

// A callback that panics prevents the rest of its tick.
func TestPanicDoesNotPreventTheRestOfItsTick(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		fired := 0
		w, err := keyed.New(newTimer(t, 4), func(key string, _ int) {
			fired++
			panic(key)
		}, &keyed.Options[string, int]{ErrorHandler: func(string, int, error) {}})
		require.NoError(t, err)
		for key := range 10 {
			require.NoError(t, w.Set(fmt.Sprint(key), key, time.Second))
		}
		pass(time.Minute)
		assert.Equal(t, 10, fired)
	})
}
