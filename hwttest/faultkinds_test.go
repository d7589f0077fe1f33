package hwttest

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// unnotified hides a task's method Cancelled.
type unnotified struct{ hwt.TimerTask }

// notifiedTwice calls Cancelled twice.
type notifiedTwice struct{ hwt.CancelledTask }

func (t notifiedTwice) Cancelled(timeout hwt.Timeout) {
	t.CancelledTask.Cancelled(timeout)
	t.CancelledTask.Cancelled(timeout)
}

// notifiedLate calls Cancelled after three ticks.
type notifiedLate struct{ hwt.CancelledTask }

func (t notifiedLate) Cancelled(timeout hwt.Timeout) {
	time.Sleep(3 * tick)
	t.CancelledTask.Cancelled(timeout)
}

// runsTwice runs a task twice.
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

// oneByOne runs tasks one after another, and sleeps after each.
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

// oneByOneBatch implements NewTimeouts by calls of NewTimeout.
func oneByOneBatch(b *broken, tasks []hwt.TimerTask, delay time.Duration) (all []hwt.Timeout, err error) {
	for _, t := range tasks {
		timeout, err := b.Timer.NewTimeout(t, delay)
		if err != nil {
			return all, err
		}
		all = append(all, timeout)
		runtime.Gosched() // On one processor, Stop would otherwise come before or after.
	}
	return all, nil
}

// mortal runs no tasks after one that failed or took more than ten seconds.
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

// deafInside loses timeouts that tasks schedule.
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

// kept keeps an engine reachable.
var kept atomic.Pointer[broken]

// calledTimeout returns an invented caller.
type calledTimeout struct{ hwt.Timeout }

func (calledTimeout) Caller() (runtime.Frame, bool) {
	return runtime.Frame{Function: "main.main"}, true
}
