package keyed_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"strings"
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

var errFull = errors.New("pool is full")

// refusing is an executor that rejects all tasks until it is opened.
type refusing struct {
	open     atomic.Bool
	attempts atomic.Int64
}

func (r *refusing) Execute(task func()) error {
	r.attempts.Add(1)
	if !r.open.Load() {
		return errFull
	}
	task()
	return nil
}

// failure is a call of ErrorHandler.
type failure struct {
	key, value int
	err        error
}

// failures records calls of ErrorHandler.
type failures []failure

func (f *failures) add(key, value int, err error) { *f = append(*f, failure{key, value, err}) }

func TestRejectedPairExpiresAgain(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(refusing)
		var failed failures
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}),
			keyed.Options[int, int]{ErrorHandler: failed.add})
		set(t, w, 1, 11, time.Second)
		pass(time.Second + keyed.RetryDelay*5/2)
		assert.EqualValues(t, 3, executor.attempts.Load())
		require.Len(t, failed, 3)
		assert.Equal(t, 1, failed[0].key)
		assert.Equal(t, 11, failed[0].value)
		assert.ErrorIs(t, failed[0].err, errFull)
		assert.True(t, w.Has(1))
		executor.open.Store(true)
		pass(keyed.RetryDelay)
		assert.Equal(t, []int{11}, r.values())
		assert.False(t, w.Has(1))
		assert.Equal(t, keyed.Stats{Fired: 1}, w.Stats())
		pass(time.Hour)
		assert.Empty(t, r.take())
	})
}

func TestRejectionIsLoggedWithItsKey(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(refusing)
		var log bytes.Buffer
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}),
			keyed.Options[int, int]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		set(t, w, 7, 77, time.Second)
		pass(time.Second + tick)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"))
		assert.Contains(t, log.String(), `wheel=keyed key=7 error=`)
		assert.Contains(t, log.String(), errFull.Error())
		executor.open.Store(true)
		pass(time.Minute)
		assert.Equal(t, []int{77}, r.values())
	})
}

func TestRejectedPairCanStillBeChanged(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(refusing)
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}),
			keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
		for key := range 4 {
			set(t, w, key, key, time.Second)
		}
		pass(time.Second + tick)
		executor.open.Store(true)
		w.Delete(0)
		set(t, w, 1, 10, time.Hour)
		move(t, w, 2, time.Minute)
		pass(keyed.RetryDelay)
		assert.Equal(t, []int{3}, r.values())
		pass(2 * time.Minute)
		assert.Equal(t, []int{2}, r.values())
		pass(2 * time.Hour)
		assert.Equal(t, []int{10}, r.values())
	})
}

func TestErrorHandlerMayUseTheWheel(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(refusing)
		var w *keyed.Wheel[int, int]
		var r *recorder
		w, r = newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}), keyed.Options[int, int]{
			ErrorHandler: func(key, value int, _ error) {
				if key == 1 {
					w.Delete(key) // end the retries
				} else {
					move(t, w, key, tick) // retry sooner
				}
			},
		})
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 22, time.Second)
		pass(time.Second + tick)
		assert.False(t, w.Has(1))
		executor.open.Store(true)
		pass(3 * tick)
		assert.Equal(t, []int{22}, r.values())
	})
}

func TestUpdateDoesNotLoseTheRejectionOfItsPair(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(refusing)
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}),
			keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
		set(t, w, 1, 11, time.Second)
		assert.True(t, w.Update(1, increment))
		pass(time.Second + tick)
		executor.open.Store(true)
		pass(keyed.RetryDelay + tick)
		assert.Equal(t, []int{12}, r.values())
	})
}

// A rejection after its pair was replaced or removed does not concern the wheel's current
// pair.
func TestRejectionOfAnEndedPairIsNotReported(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var w *keyed.Wheel[int, int]
		var failed failures
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executorFunc(func(func()) error {
			set(t, w, 1, 12, time.Hour)
			w.Delete(2)
			return errFull
		})}), keyed.Options[int, int]{ErrorHandler: failed.add})
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 22, time.Second)
		pass(time.Minute)
		assert.Empty(t, failed)
		assert.Empty(t, r.take())
		value, _ := w.Get(1)
		assert.Equal(t, 12, value)
	})
}

// An executor that panics after it accepted a task may still call it, after the pair was
// moved.
func TestNoPairIsEarlyIfAnExecutorBreaksItsRules(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor, repaired := new(holding), new(atomic.Bool)
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executorFunc(func(task func()) error {
			_ = executor.Execute(task)
			if !repaired.Load() {
				panic("accepted")
			}
			return nil
		})}), keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
		set(t, w, 1, 11, time.Second)
		pass(time.Second + tick)
		move(t, w, 1, time.Hour)
		require.Equal(t, 1, executor.release())
		assert.Empty(t, r.take())
		assert.True(t, w.Has(1))
		repaired.Store(true)
		pass(time.Hour + tick)
		executor.release()
		assert.Equal(t, []int{11}, r.values())
	})
}

type executorFunc func(task func()) error

func (f executorFunc) Execute(task func()) error { return f(task) }

func TestRejectedPairWithoutARetryStaysInTheWheel(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		var timer *hashedwheel.Timer
		timer = newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1, Executor: executorFunc(func(func()) error {
			timer.AfterFunc(time.Hour, func() {}) // takes the pair's place
			return errFull
		})})
		w, _ := newWheel(t, timer, keyed.Options[int, int]{ErrorHandler: failed.add})
		set(t, w, 1, 11, time.Second)
		pass(2 * time.Second)
		require.Len(t, failed, 1)
		assert.ErrorIs(t, failed[0].err, errFull)
		assert.ErrorIs(t, failed[0].err, hwt.ErrTooManyPending)
		assert.True(t, w.Has(1))
		drained := 0
		require.NoError(t, w.Drain(func(keyed.Entry[int, int]) { drained++ }))
		assert.Equal(t, 1, drained)
	})
}

func TestExecutorThatPanicsLosesNoPair(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		for name, breaks := range map[string]func(){
			"panics":             func() { panic("executor") },
			"ends its goroutine": runtime.Goexit,
		} {
			var repaired atomic.Bool
			w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executorFunc(func(task func()) error {
				if !repaired.Load() {
					breaks()
				}
				task()
				return nil
			})}), keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
			set(t, w, 1, 11, time.Second)
			pass(time.Second + tick)
			repaired.Store(true)
			pass(time.Minute)
			assert.Equal(t, []int{11}, r.values(), name)
		}
	})
}

func TestErrorHandlerReceivesThePanicsOfCallbacks(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		var reported []error
		timer := newTimer(t, 8, hashedwheel.Options{
			ErrorHandler: func(_ hwt.Timeout, err error) { reported = append(reported, err) },
		})
		w, err := keyed.New(timer, func(key, _ int) {
			if key == 1 {
				panic("broken")
			}
			runtime.Goexit()
		}, &keyed.Options[int, int]{ErrorHandler: failed.add})
		require.NoError(t, err)
		set(t, w, 1, 11, time.Second)
		pass(2 * time.Second)
		require.Len(t, failed, 1)
		assert.Equal(t, 1, failed[0].key)
		assert.Equal(t, 11, failed[0].value)
		var broken *hwt.PanicError
		require.ErrorAs(t, failed[0].err, &broken)
		assert.Equal(t, "broken", broken.Value)
		assert.Contains(t, string(broken.Stack), "TestErrorHandlerReceivesThePanicsOfCallbacks")
		assert.Empty(t, reported, "the timer does not report it")

		set(t, w, 2, 22, time.Second)
		pass(2 * time.Second)
		require.Len(t, failed, 2)
		assert.Equal(t, failure{2, 22, hwt.ErrGoexit}, failed[1])
		assert.Equal(t, keyed.Stats{Fired: 2}, w.Stats())
	})
}

func TestGoexitReachesTheTimersErrorHandler(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var errs []error
		timer := newTimer(t, 8, hashedwheel.Options{
			ErrorHandler: func(_ hwt.Timeout, err error) { errs = append(errs, err) },
		})
		w, err := keyed.New(timer, func(int, int) { runtime.Goexit() }, nil)
		require.NoError(t, err)
		set(t, w, 1, 11, time.Second)
		pass(2 * time.Second)
		assert.Equal(t, []error{hwt.ErrGoexit}, errs)
	})
}

func TestPanicIsLoggedWithItsKey(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		timer := newTimer(t, 8)
		cause := errors.New("no shop")
		w, err := keyed.New(timer, func(key int, asError bool) {
			if asError {
				panic(cause)
			}
			panic("broken")
		}, &keyed.Options[int, bool]{Name: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, w.Set(7, false, time.Second))
		require.NoError(t, w.Set(8, true, time.Second))
		pass(2 * time.Second)
		assert.Contains(t, log.String(), `msg="keyed: callback failed" wheel=orders key=7 error="hwt: panic: broken"`)
		assert.Contains(t, log.String(), `wheel=orders key=8 error="hwt: panic: no shop"`)
		assert.Contains(t, log.String(), "rejected_test.go", "the stack shows the callback")
		assert.Zero(t, timer.Stats().Panics, "the timer's task did not panic")
	})
}
