package clock_test

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tick = time.Millisecond
	unit = 100 * time.Millisecond // of time in most tests
	slop = 10 * time.Millisecond  // more than a tick, far less than a unit
)

// newTimer returns a wheel that stops at the end of the test.
func newTimer(tb testing.TB) hwt.Engine { return newTimerWith(tb, hashedwheel.Options{}) }

func newTimerWith(tb testing.TB, options hashedwheel.Options) hwt.Engine {
	options.TickDuration = tick
	timer, err := hashedwheel.New(&options)
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

// newClock returns a clock with the default options.
func newClock(tb testing.TB, timer hwt.Timer) *clock.Clock {
	return newClockWith(tb, timer, clock.Options{})
}

func newClockWith(tb testing.TB, timer hwt.Timer, options clock.Options) *clock.Clock {
	c, err := clock.New(timer, &options)
	require.NoError(tb, err)
	return c
}

var engines = map[string]func() (hwt.Engine, error){
	"hashed":       func() (hwt.Engine, error) { return hashedwheel.New(&hashedwheel.Options{TickDuration: tick}) },
	"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(&hierarchical.Options{TickDuration: tick}) },
	"runtime":      func() (hwt.Engine, error) { return runtimetimer.New(nil) },
	"wrapping":     newWrapping,
}

// onEngines runs f in a bubble on every engine.
func onEngines(t *testing.T, f func(t *testing.T, timer hwt.Engine)) {
	for name, newTimer := range engines {
		t.Run("engine="+name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer, err := newTimer()
				require.NoError(t, err)
				defer timer.Stop()
				f(t, timer)
			})
		})
	}
}

// timer has the methods common to *time.Timer and *clock.Timer.
type timer interface {
	Stop() bool
	Reset(time.Duration) bool
}

// ticker has the methods common to *time.Ticker and *clock.Ticker.
type ticker interface {
	Stop()
	Reset(time.Duration)
}

// shapes has the functions of package time, or a clock's.
type shapes struct {
	afterFunc     func(time.Duration, func()) timer
	newTimer      func(time.Duration) (timer, <-chan time.Time)
	newTicker     func(time.Duration) (ticker, <-chan time.Time)
	after         func(time.Duration) <-chan time.Time
	tick          func(time.Duration) <-chan time.Time
	sleep         func(time.Duration)
	timeout       func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	deadline      func(context.Context, time.Time) (context.Context, context.CancelFunc)
	timeoutCause  func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
	deadlineCause func(context.Context, time.Time, error) (context.Context, context.CancelFunc)
	pending       func() int64 // timeouts of the timer; 0 for the standard library
}

func standard() shapes {
	return shapes{
		afterFunc: func(d time.Duration, f func()) timer { return time.AfterFunc(d, f) },
		newTimer: func(d time.Duration) (timer, <-chan time.Time) {
			t := time.NewTimer(d)
			return t, t.C
		},
		newTicker: func(d time.Duration) (ticker, <-chan time.Time) {
			t := time.NewTicker(d)
			return t, t.C
		},
		after: time.After, tick: time.Tick, sleep: time.Sleep,
		timeout: context.WithTimeout, deadline: context.WithDeadline,
		timeoutCause: context.WithTimeoutCause, deadlineCause: context.WithDeadlineCause,
		pending: func() int64 { return 0 },
	}
}

func shapesOf(c *clock.Clock, pending func() int64) shapes {
	return shapes{
		afterFunc: func(d time.Duration, f func()) timer { return c.AfterFunc(d, f) },
		newTimer: func(d time.Duration) (timer, <-chan time.Time) {
			t := c.NewTimer(d)
			return t, t.C
		},
		newTicker: func(d time.Duration) (ticker, <-chan time.Time) {
			t := c.NewTicker(d)
			return t, t.C
		},
		after: c.After, tick: c.Tick, sleep: c.Sleep,
		timeout: c.WithTimeout, deadline: c.WithDeadline,
		timeoutCause: c.WithTimeoutCause, deadlineCause: c.WithDeadlineCause,
		pending: pending,
	}
}

// refusing is a timer that rejects all timeouts, so that runtime timers replace it.
type refusing struct{ err error }

func (r refusing) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) { return nil, r.err }
func (refusing) Stop() []hwt.Timeout                                            { return nil }

// agree runs f in a bubble on the standard library, on a clock on every engine, on one
// whose timer rejects all timeouts, and on one that uses runtime timers for delays of a
// unit. f asserts their common behavior.
func agree(t *testing.T, f func(t *testing.T, s shapes)) {
	t.Run("on=standard", func(t *testing.T) {
		enginetest.Bubble(t, func(t *testing.T) { f(t, standard()) })
	})
	onClocks(t, f)
}

// onClocks is agree without the standard library.
func onClocks(t *testing.T, f func(t *testing.T, s shapes)) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		f(t, shapesOf(newClock(t, timer), timer.Pending))
		pass(0)
		require.Zero(t, timer.Pending(), "left in the timer")
	})
	t.Run("on=refusing", func(t *testing.T) {
		enginetest.Bubble(t, func(t *testing.T) {
			c := newClockWith(t, refusing{hwt.ErrStopped}, clock.Options{ErrorHandler: func(error) {}})
			f(t, shapesOf(c, func() int64 { return 0 }))
		})
	})
	t.Run("on=mixed", func(t *testing.T) {
		enginetest.Bubble(t, func(t *testing.T) {
			timer := newTimer(t)
			c := newClockWith(t, timer, clock.Options{RuntimeBelow: unit + 1})
			f(t, shapesOf(c, timer.Pending))
			pass(0)
			require.Zero(t, timer.Pending(), "left in the timer")
		})
	})
}

// pass advances fake time, and runs the due functions.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// received receives from c without waiting, and reports whether it received a value.
func received(c <-chan time.Time) (time.Time, bool) {
	select {
	case v := <-c:
		return v, true
	default:
		return time.Time{}, false
	}
}

// isDone reports whether c is closed.
func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// list collects values from any goroutine.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
}

// take returns the values added since the last take.
func (l *list[T]) take() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// goroutines returns the number of goroutines in the bubble. Others belong to the
// runtime and to other tests.
func goroutines() int {
	synctest.Wait()
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	return bytes.Count(all, []byte(", synctest bubble "))
}
