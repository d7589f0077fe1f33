package clock_test

import (
	"context"
	"io"
	"log"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestRejectionIsReportedAndLosesNoTimer(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimerWith(t, hashedwheel.Options{MaxPendingTimeouts: 1})
		var errs list[error]
		c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
		held := c.NewTimer(unit)
		assert.Empty(t, errs.take())
		ctx, cancel := c.WithTimeout(context.Background(), unit)
		defer cancel()
		synctest.Wait()
		refusals := errs.take()
		if assert.Len(t, refusals, 1) {
			assert.ErrorIs(t, refusals[0], hwt.ErrTooManyPending)
		}
		pass(unit + slop)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
		assert.True(t, held.Stop())
	})
}

func TestErrorHandlerMayUseTheRejectedTimer(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var timer atomic.Pointer[clock.Timer]
		c := newClockWith(t, refusing{hwt.ErrStopped}, clock.Options{ErrorHandler: func(error) {
			if timer := timer.Load(); timer != nil {
				timer.Stop()
			}
		}})
		known := c.NewTimer(unit)
		synctest.Wait()
		known.Stop()
		timer.Store(known)
		known.Reset(unit)
		synctest.Wait()
		assert.False(t, known.Stop(), "the handler stopped it")
	})
}

// TestFirstRejectionIsLogged uses a log handler that panics. The program must survive.
func TestFirstRejectionIsLogged(t *testing.T) {
	logged := &lines{}
	defer func(was *slog.Logger, to io.Writer, flags int) {
		slog.SetDefault(was)
		log.SetOutput(to)
		log.SetFlags(flags)
	}(slog.Default(), log.Writer(), log.Flags())
	slog.SetDefault(slog.New(logged))
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClock(t, refusing{hwt.ErrStopped})
		for range 3 {
			c.NewTimer(unit).Stop()
			synctest.Wait()
		}
		assert.Equal(t, []string{"clock: the timer rejected a timeout; a runtime timer replaces it (logged once)"}, logged.take())
	})
}

// lines is a log handler that records messages, and panics.
type lines struct{ list[string] }

func (*lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *lines) WithGroup(string) slog.Handler          { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.add(r.Message)
	panic("no good")
}

func TestClockWorksAfterItsTimerStopped(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		var errs list[error]
		c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
		known := c.NewTimer(unit)
		unprocessed := timer.Stop()
		assert.Len(t, unprocessed, 1)
		assert.True(t, known.Reset(unit), "nothing was received")
		start := time.Now()
		<-known.C
		assert.Equal(t, unit, time.Since(start))
		synctest.Wait()
		assert.ErrorIs(t, errs.take()[0], hwt.ErrStopped)
	})
}

func TestTickerThatJoinsAfterTheTimersStopTicks(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		var refusals list[error]
		c := newClockWith(t, timer, clock.Options{ErrorHandler: refusals.add})
		lost, reset := c.NewTicker(unit), c.NewTicker(unit)
		defer lost.Stop()
		defer reset.Stop()
		unprocessed := timer.Stop()
		require.Len(t, unprocessed, 1)
		pass(unit / 2)
		start := time.Now()
		reset.Reset(unit)
		joined := c.NewTicker(unit)
		defer joined.Stop()
		assert.Equal(t, unit/2, (<-lost.C).Sub(start), "it keeps its phase")
		for i := range 3 {
			assert.Equal(t, unit*time.Duration(i+1), (<-reset.C).Sub(start))
			assert.Equal(t, unit*time.Duration(i+1), (<-joined.C).Sub(start))
			if i == 0 {
				assert.NoError(t, unprocessed[0].Task().Run(unprocessed[0])) // has no effect
			}
		}
		synctest.Wait()
		assert.Len(t, refusals.take(), 1+2*3, "one when they joined, and one per phase and period")
	})
}

func TestFuncsOnTimerRunOnItsWorker(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var errs list[error]
		c := newClockWith(t, newTimer(t), clock.Options{FuncsOnTimer: true, ErrorHandler: errs.add})
		var first, second atomic.Bool
		c.AfterFunc(unit, func() { first.Store(true); time.Sleep(unit) })
		c.AfterFunc(unit+slop, func() { second.Store(true); panic("no good") })
		pass(unit + 2*slop)
		assert.True(t, first.Load())
		assert.False(t, second.Load(), "the first holds the worker")
		pass(unit)
		assert.True(t, second.Load())
		assert.Len(t, errs.take(), 1)
	})
}

func TestFuncWithoutADelayHasItsOwnGoroutine(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClockWith(t, newTimer(t), clock.Options{FuncsOnTimer: true})
		start, release := time.Now(), make(chan struct{})
		var ran atomic.Bool
		c.AfterFunc(0, func() { <-release })
		c.AfterFunc(unit, func() { ran.Store(true) }).Reset(-1)
		synctest.Wait()
		assert.True(t, ran.Load())
		assert.Zero(t, time.Since(start))
		close(release)
	})
}
