package keyed_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// The tests in this file use timers that wrap tasks and timeouts, as metrics and
// tracing do.

// wrappingTimer wraps each task and timeout. Its timeouts have a type that is not
// comparable, which the interface allows.
type wrappingTimer struct{ hwt.Timer }

type wrappedTask struct{ hwt.TimerTask }

type wrappedTimeout struct {
	hwt.Timeout
	_ []int // a comparison panics
}

func (w wrappingTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	t, err := w.Timer.NewTimeout(wrappedTask{task}, delay)
	if err != nil {
		return nil, err
	}
	return wrappedTimeout{Timeout: t}, nil
}

func (w wrappedTask) Run(t hwt.Timeout) error { return w.TimerTask.Run(wrappedTimeout{Timeout: t}) }

// mixedTimer wraps every second timeout, and no tasks.
type mixedTimer struct {
	hwt.Timer
	calls atomic.Int64
}

func (m *mixedTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	t, err := m.Timer.NewTimeout(task, delay)
	if err == nil && m.calls.Add(1)%2 == 0 {
		t = wrappedTimeout{Timeout: t}
	}
	return t, err
}

func TestTimerThatWrapsTasksFiresEveryPair(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, wrappingTimer{timer})
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 21, time.Hour)
		set(t, w, 2, 22, time.Second) // a known key
		set(t, w, 3, 33, time.Hour)
		moved, err := w.Move(3, time.Second)
		require.NoError(t, err)
		assert.True(t, moved)
		assert.True(t, w.Update(3, func(int) int { return 30 }))
		assert.Len(t, slices.Collect(w.All()), 3)
		set(t, w, 4, 44, time.Second)
		assert.True(t, w.Delete(4))
		pass(time.Minute)
		assert.ElementsMatch(t, []int{11, 22, 30}, r.values())
		assert.Equal(t, keyed.Stats{Fired: 3}, w.Stats())
		pass(2 * time.Hour)
		assert.Empty(t, r.take())
	})
}

// The task is early, and the executor rejects the task of the second timeout. Both make the
// wheel replace the timeout of the pair.
func TestTimeoutsOfAPairMayDifferInType(t *testing.T) {
	for wrapped := range int64(2) {
		enginetest.Bubble(t, func(t *testing.T) {
			executor := new(refusing)
			timer := &mixedTimer{Timer: newTimer(t, 8, hashedwheel.Options{Executor: executor})}
			timer.calls.Store(wrapped)
			outer := &interruptedTimer{Timer: timer, interrupt: func() { pass(time.Second) }}
			w, r := newWheel(t, outer, keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
			set(t, w, 1, 11, tick)
			assertDue(t, w, 1, time.Now())
			pass(tick)
			assertDue(t, w, 1, time.Now().Add(keyed.RetryDelay))
			executor.open.Store(true)
			pass(keyed.RetryDelay + tick)
			assert.Equal(t, []int{11}, r.values())
			assert.EqualValues(t, wrapped+3, timer.calls.Load())
		})
	}
}

// assertDue asserts that the pair of key is due at a time, or up to a tick before.
func assertDue(t *testing.T, w *keyed.Wheel[int, int], key int, at time.Time) {
	t.Helper()
	due, ok := w.Due(key)
	assert.True(t, ok)
	assert.WithinRange(t, due, at.Add(-tick), at)
}

// forgetful is an EventTimer that breaks its contract: tasks receive another handle.
type forgetful struct{ *hashedwheel.Timer }

func (f forgetful) InitEvent(e *hwt.Event, task hwt.TimerTask) error {
	return f.Timer.InitEvent(e, wrappedTask{task})
}

func TestTaskWithoutItsEventIsReported(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var errs []error
		w, r := newWheel(t, forgetful{newTimer(t, 8, hashedwheel.Options{
			ErrorHandler: func(_ hwt.Timeout, err error) { errs = append(errs, err) },
		})})
		set(t, w, 1, 11, tick)
		pass(3 * tick)
		require.Len(t, errs, 1)
		assert.ErrorContains(t, errs[0], "keyed: the timer passed a keyed_test.wrappedTimeout to the task of an event (expected: the *hwt.Event)")
		assert.Empty(t, r.take())
		assert.True(t, w.Has(1))
	})
}
