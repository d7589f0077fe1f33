package hwttest

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// unnotified hides that a task wants to be notified of its cancellation.
type unnotified struct{ hwt.TimerTask }

// notifiedTwice notifies it twice.
type notifiedTwice struct{ hwt.CancelledTask }

func (t notifiedTwice) Cancelled(timeout hwt.Timeout) {
	t.CancelledTask.Cancelled(timeout)
	t.CancelledTask.Cancelled(timeout)
}

// notifiedLate notifies it after three ticks.
type notifiedLate struct{ hwt.CancelledTask }

func (t notifiedLate) Cancelled(timeout hwt.Timeout) {
	time.Sleep(3 * tick)
	t.CancelledTask.Cancelled(timeout)
}

// runsTwice runs it twice.
type runsTwice struct{ hwt.TimerTask }

func (t runsTwice) Run(timeout hwt.Timeout) error {
	return errors.Join(t.TimerTask.Run(timeout), t.TimerTask.Run(timeout))
}

func wrapped[T hwt.TimerTask](wrap func(hwt.CancelledTask) T) func(*broken, hwt.TimerTask) hwt.TimerTask {
	return func(_ *broken, task hwt.TimerTask) hwt.TimerTask {
		if notified, ok := task.(hwt.CancelledTask); ok {
			return wrap(notified)
		}
		return task
	}
}

func delays(f func(time.Duration) time.Duration) func(*broken) {
	return func(b *broken) { b.delay = f }
}

// oneByOne runs tasks one after another, and rests after each.
func oneByOne(b *broken) {
	worker := make(chan struct{}, 1)
	b.task = func(_ *broken, t hwt.TimerTask) hwt.TimerTask {
		return hwt.TaskFunc(func(timeout hwt.Timeout) error {
			worker <- struct{}{}
			defer func() { <-worker }()
			defer time.Sleep(2 * tick)
			return t.Run(timeout)
		})
	}
}

// oneByOneBatch is a NewTimeouts that is nothing but calls of NewTimeout.
func oneByOneBatch(b *broken, tasks []hwt.TimerTask, delay time.Duration) (all []hwt.Timeout, err error) {
	for _, t := range tasks {
		timeout, err := b.Timer.NewTimeout(t, delay)
		if err != nil {
			return all, err
		}
		all = append(all, timeout)
	}
	return all, nil
}

// mortal runs no task any more after one that went wrong, or took very long.
func mortal(b *broken) {
	var dead atomic.Bool
	b.task = func(_ *broken, t hwt.TimerTask) hwt.TimerTask {
		return hwt.TaskFunc(func(timeout hwt.Timeout) error {
			if dead.Load() {
				return nil
			}
			begin, well := time.Now(), false
			defer func() { dead.Store(!well || time.Since(begin) > 10*time.Second) }()
			err := t.Run(timeout)
			well = err == nil
			return err
		})
	}
}

// deafInside forgets what is scheduled from inside a task.
func deafInside(b *broken) {
	var inside atomic.Int64
	b.newTimeout = func(b *broken, t hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
		if inside.Load() > 0 {
			delay = math.MaxInt64
		}
		return b.Timer.NewTimeout(hwt.TaskFunc(func(timeout hwt.Timeout) error {
			inside.Add(1)
			defer inside.Add(-1)
			return t.Run(timeout)
		}), delay)
	}
}

// kept holds an engine for longer than it should live.
var kept atomic.Pointer[broken]

// calledTimeout says that it has a caller.
type calledTimeout struct{ hwt.Timeout }

func (calledTimeout) Caller() (runtime.Frame, bool) {
	return runtime.Frame{Function: "main.main"}, true
}
