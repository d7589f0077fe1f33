package keyed_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// setIfSooner is SetIfSooner where it must not fail.
func setIfSooner(tb testing.TB, w *keyed.Wheel[int, int], key, value int, delay time.Duration) (set bool) {
	tb.Helper()
	set, err := w.SetIfSooner(key, value, delay)
	require.NoError(tb, err)
	return set
}

func TestSetIfSoonerKeepsTheEarlierDueTime(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		assert.True(t, setIfSooner(t, w, 1, 11, math.MaxInt64))
		assert.False(t, setIfSooner(t, w, 1, 12, math.MaxInt64), "never is not sooner than never")
		assert.True(t, setIfSooner(t, w, 1, 13, time.Hour))
		assert.False(t, setIfSooner(t, w, 1, 14, time.Hour))
		pass(time.Minute)
		assert.False(t, setIfSooner(t, w, 1, 15, 59*time.Minute), "it is due at the same time")
		assert.True(t, setIfSooner(t, w, 1, 16, time.Second))
		assert.False(t, setIfSooner(t, w, 1, 17, time.Minute))
		if engine, ok := timer.(hwt.Engine); assert.True(t, ok) {
			assert.EqualValues(t, 1, engine.Pending(), "the later timeout is cancelled")
		}
		pass(time.Second + tick)
		assert.Equal(t, []int{16}, r.values())
		assert.True(t, setIfSooner(t, w, 1, 18, time.Hour), "the key is unknown again")
		assert.True(t, setIfSooner(t, w, 1, 19, -time.Hour), "at the next opportunity")
		pass(2 * time.Hour)
		assert.Equal(t, []int{19}, r.values())
		w.Close()
		_, err := w.SetIfSooner(1, 20, time.Second)
		assert.ErrorIs(t, err, keyed.ErrClosed)
	})
}

func TestSetIfSoonerDoesNotPostponeADuePair(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		assert.False(t, setIfSooner(t, w, 1, 12, 0))
		assert.False(t, setIfSooner(t, w, 1, 13, time.Second))
		require.Equal(t, 1, run())
		assert.Equal(t, []int{11}, r.values())
	})
}

func TestSetIfSoonerReturnsTheTimersError(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1}))
		set(t, w, 1, 11, time.Hour)
		_, err := w.SetIfSooner(2, 22, time.Second)
		assert.ErrorIs(t, err, hwt.ErrTooManyPending)
		assert.True(t, setIfSooner(t, w, 1, 12, time.Second), "the timeout is reset at the pending limit")
		pass(time.Minute)
		assert.Equal(t, []int{12}, r.values())
	})
}

func TestSetIfSoonerKeepsASetThatRacesWithIt(t *testing.T) {
	for name, c := range map[string]struct {
		delay time.Duration
		want  bool
		value int
	}{
		"to sooner": {delay: time.Second, value: 11},
		"to later":  {delay: 2 * time.Hour, want: true, value: 12},
	} {
		enginetest.Bubble(t, func(t *testing.T) {
			w, r, timer := interrupted(t, func(w *keyed.Wheel[int, int]) { set(t, w, 1, 11, c.delay) })
			assert.Equal(t, c.want, setIfSooner(t, w, 1, 12, time.Minute), name)
			assert.EqualValues(t, 1, timer.Pending(), name)
			pass(min(c.delay, time.Minute) + tick)
			assert.Equal(t, []int{c.value}, r.values(), name)
			pass(3 * time.Hour)
			assert.Empty(t, r.take(), name)
		})
	}
}
