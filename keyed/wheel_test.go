package keyed_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

func TestPairFiresOnceAndOnTime(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		start := time.Now()
		set(t, w, 1, 11, time.Second)
		assert.True(t, w.Has(1))
		assert.Equal(t, 1, w.Len())
		pass(time.Hour)
		events := r.take()
		require.Len(t, events, 1)
		assert.Equal(t, 11, events[0].value)
		assert.WithinRange(t, events[0].at, start.Add(time.Second), start.Add(time.Second+tick))
		assert.False(t, w.Has(1))
		assert.Zero(t, w.Len())
		assert.EqualValues(t, 1, w.Stats().Fired)
	})
}

func TestSetOnAKnownKeyReplacesValueAndDelay(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		pass(900 * time.Millisecond)
		set(t, w, 1, 12, time.Minute) // later
		value, ok := w.Get(1)
		assert.True(t, ok)
		assert.Equal(t, 12, value)
		pass(30 * time.Second)
		assert.Empty(t, r.take())
		set(t, w, 1, 13, time.Second) // sooner
		pass(time.Second + tick)
		assert.Equal(t, []int{13}, r.values())
		pass(time.Hour)
		assert.Empty(t, r.take())
	})
}

func TestMoveKeepsTheValue(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Minute)
		moved, err := w.Move(1, time.Second)
		require.NoError(t, err)
		assert.True(t, moved)
		pass(time.Second + tick)
		assert.Equal(t, []int{11}, r.values())
	})
}

func TestUnknownKeyIsNotAnError(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		moved, err := w.Move(1, 0)
		assert.False(t, moved)
		assert.NoError(t, err)
		assert.False(t, w.Delete(1))
		move(t, w, 1, time.Second)
		_, ok := w.Get(1)
		assert.False(t, ok)
		pass(time.Minute)
		assert.Empty(t, r.take())
	})
}

func TestDeletedPairNeverFires(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 22, time.Second)
		assert.True(t, w.Delete(1))
		assert.False(t, w.Delete(1))
		pass(time.Minute)
		assert.Equal(t, []int{22}, r.values())
	})
}

func TestDelayOfZeroRunsOnceOnAnotherGoroutine(t *testing.T) {
	for _, delay := range []time.Duration{0, -1, math.MinInt64} {
		onEngines(t, func(t *testing.T, timer hwt.Timer) {
			w, r := newWheel(t, timer)
			r.mu.Lock() // a callback on this goroutine would wait forever
			set(t, w, 1, 11, delay)
			set(t, w, 2, 22, time.Hour)
			move(t, w, 2, delay)
			r.mu.Unlock()
			pass(tick)
			assert.ElementsMatch(t, []int{11, 22}, r.values())
			pass(2 * time.Hour)
			assert.Empty(t, r.take())
		})
	}
}

func TestDelayBeyondTheClockNeverExpires(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, math.MaxInt64)
		set(t, w, 2, 22, time.Second)
		move(t, w, 2, math.MaxInt64)
		pass(24 * time.Hour)
		assert.Empty(t, r.take())
		assert.Equal(t, 2, w.Len())
	})
}

func TestCallbackMayUseTheWheel(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		var w *keyed.Wheel[int, int]
		var seen []int
		w, err := keyed.New(timer, func(key, value int) {
			seen = append(seen, value)
			assert.False(t, w.Has(key))
			if value < 3 {
				set(t, w, key, value+1, time.Second)
				set(t, w, key+1, 0, time.Hour)
				move(t, w, key+1, time.Minute)
				w.Delete(key + 1)
			}
		}, nil)
		require.NoError(t, err)
		set(t, w, 1, 1, time.Second)
		pass(time.Minute)
		assert.Equal(t, []int{1, 2, 3}, seen)
		assert.Zero(t, w.Len())
	})
}

func TestPanicAffectsNoOtherPair(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var broken []error
		timer := newTimer(t, 8)
		var fired []int
		w, err := keyed.New(timer, func(key, value int) {
			if key == 2 {
				panic("two")
			}
			fired = append(fired, key)
		}, &keyed.Options[int, int]{ErrorHandler: func(_, _ int, err error) { broken = append(broken, err) }})
		require.NoError(t, err)
		for key := range 5 {
			set(t, w, key, 0, time.Second)
		}
		pass(time.Minute)
		assert.ElementsMatch(t, []int{0, 1, 3, 4}, fired)
		require.Len(t, broken, 1)
		var asPanic *hwt.PanicError
		require.ErrorAs(t, broken[0], &asPanic)
		assert.ErrorContains(t, asPanic, "two")
		assert.Zero(t, w.Len())
	})
}

func TestWheelsShareATimer(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		a, ra := newWheel(t, timer)
		b, rb := newWheel(t, timer)
		set(t, a, 1, 11, time.Second)
		set(t, b, 1, 12, time.Second)
		a.Close()
		pass(time.Minute)
		assert.Empty(t, ra.take())
		assert.Equal(t, []int{12}, rb.values())
	})
}

func TestErrorOfTheTimerLeavesThePairUnchanged(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 2})
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 22, time.Second)
		assert.ErrorIs(t, w.Set(3, 33, time.Second), hwt.ErrTooManyPending)
		assert.False(t, w.Has(3))
		set(t, w, 1, 12, time.Minute) // needs no new timeout
		pass(2 * time.Second)
		assert.Equal(t, []int{22}, r.values())

		timer.Stop()
		assert.ErrorIs(t, w.Set(3, 33, time.Second), hwt.ErrStopped)
		assert.ErrorIs(t, w.Set(1, 13, time.Second), hwt.ErrStopped)
		_, err := w.Move(1, time.Second)
		assert.ErrorIs(t, err, hwt.ErrStopped)
		due := time.Now().Add(time.Minute - 2*time.Second)
		want := []keyed.Entry[int, int]{{Key: 1, Value: 12, Due: due}}
		assert.Equal(t, want, slices.Collect(w.All()), "pairs of a stopped timer can still be drained")
		var drained []keyed.Entry[int, int]
		require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) { drained = append(drained, e) }))
		assert.Equal(t, want, drained)
		w.Delete(1)
	})
}

func TestNewRefusesBadArguments(t *testing.T) {
	timer := newTimer(t, 8)
	callback := func(int, int) {}
	_, err := keyed.New[int, int](nil, callback, nil)
	assert.EqualError(t, err, "keyed: New: timer is nil (expected: an hwt.Timer)")
	_, err = keyed.New((*hashedwheel.Timer)(nil), callback, nil)
	assert.EqualError(t, err, "keyed: New: timer is nil (expected: an hwt.Timer)")
	_, err = keyed.New[int, int](timer, nil, nil)
	assert.EqualError(t, err, "keyed: New: callback is nil (expected: a function)")
	_, err = keyed.New(timer, callback, &keyed.Options[int, int]{DrainWorkers: -1})
	assert.EqualError(t, err,
		"keyed: Options.DrainWorkers: -1 (expected: 0 for the default, or at least 1)")
}

func TestKeysUnequalToThemselvesAreRejected(t *testing.T) {
	w, err := keyed.New(newTimer(t, 8), func(any, int) {}, nil)
	require.NoError(t, err)
	for _, key := range []any{math.NaN(), []int{1}} {
		assert.ErrorIs(t, w.Set(key, 1, time.Hour), keyed.ErrInvalidKey)
		_, err := w.Move(key, time.Hour)
		assert.ErrorIs(t, err, keyed.ErrInvalidKey)
		assert.False(t, w.Delete(key))
		assert.False(t, w.Has(key))
	}
	require.NoError(t, w.Set(nil, 1, time.Hour))
	assert.True(t, w.Has(nil))
}

func TestStringReturnsPendingCountAndTimer(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	set(t, w, 1, 11, time.Hour)
	assert.Equal(t, "keyed.Wheel(keyed, 1 pending on hashedwheel.Timer(hashedwheel, tick 10ms, 8 buckets, 1 pending))", w.String())
	w, _ = newWheel(t, wrappingTimer{newTimer(t, 8)})
	assert.Equal(t, "keyed.Wheel(keyed, 0 pending on keyed_test.wrappingTimer)", w.String(), "it reads no fields of a wrapper")
}

// interruptedTimer calls a function before it returns a new timeout.
type interruptedTimer struct {
	hwt.Timer
	interrupt func()
}

func (i *interruptedTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	timeout, err := i.Timer.NewTimeout(task, delay)
	interrupt := i.interrupt
	i.interrupt = func() {}
	interrupt()
	return timeout, err
}

// interrupted returns a wheel whose next new timeout is interrupted by f.
func interrupted(t *testing.T, f func(w *keyed.Wheel[int, int])) (*keyed.Wheel[int, int], *recorder, *hashedwheel.Timer) {
	timer := newTimer(t, 8)
	outer := &interruptedTimer{Timer: timer}
	w, r := newWheel(t, outer)
	outer.interrupt = func() { f(w) }
	return w, r, timer
}

func TestSetWinsOverASetThatRacesWithIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, timer := interrupted(t, func(w *keyed.Wheel[int, int]) { set(t, w, 1, 11, time.Second) })
		set(t, w, 1, 12, time.Hour)
		assert.EqualValues(t, 1, timer.Pending(), "one of the timeouts is cancelled")
		pass(time.Minute)
		assert.Empty(t, r.take())
		pass(time.Hour)
		assert.Equal(t, []int{12}, r.values())
	})
}

func TestSetIfAbsentYieldsToASetThatRacesWithIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, timer := interrupted(t, func(w *keyed.Wheel[int, int]) { set(t, w, 1, 11, time.Second) })
		ok, err := w.SetIfAbsent(1, 12, time.Minute)
		require.NoError(t, err)
		assert.False(t, ok)
		assert.EqualValues(t, 1, timer.Pending())
		pass(time.Hour)
		assert.Equal(t, []int{11}, r.values())
	})
}

func TestCloseInTheMiddleOfASetRejectsIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, timer := interrupted(t, func(w *keyed.Wheel[int, int]) { w.Close() })
		assert.ErrorIs(t, w.Set(1, 11, time.Second), keyed.ErrClosed)
		assert.Zero(t, timer.Pending())
		assert.Zero(t, w.Len())
		pass(time.Hour)
		assert.Empty(t, r.take())
	})
}

// The timer's task runs while NewTimeout holds back its caller.
func TestPairWhoseTaskIsEarlyFires(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, _ := interrupted(t, func(*keyed.Wheel[int, int]) { pass(time.Second) })
		set(t, w, 1, 11, tick)
		assert.True(t, w.Has(1))
		pass(2 * tick)
		assert.Equal(t, []int{11}, r.values())
		assert.Equal(t, keyed.Stats{Fired: 1}, w.Stats())
	})
}
