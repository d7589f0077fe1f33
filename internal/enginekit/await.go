package enginekit

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// waiters are the callers of Await. A task or callback calls Ended after it has been
// counted as ended, and Await counts after it has set awaited, so one of them sees the
// other.
type waiters struct {
	awaited atomic.Bool // Atomic: set by Await, for good.

	mu      sync.Mutex
	own     int64                  // Tasks that call Await themselves. Guarded by mu.
	callers map[chan struct{}]bool // Closed to make a caller count again. The value says whether it is in a synctest bubble. Guarded by mu.
}

// Outstanding returns the number of tasks and callbacks that run, and of those that
// wait in the executor. It does not include those that a worker runs itself.
func (r *Runner) Outstanding() (running, waiting int64) {
	running = r.late.Load()
	ended, begun := r.ended.Load(), r.begun.Load()
	given := r.handed.Load() // last, so that waiting is never negative
	switch {
	case r.Executor != nil:
		given = r.Given()
	case r.Running != nil:
		running += r.Running()
	}
	return running + begun - ended, given - begun
}

func (r *Runner) busy() int64 {
	running, waiting := r.Outstanding()
	return running + waiting
}

// Await waits until all outstanding tasks and callbacks have ended. It returns false if
// ctx ends first. own is 1 if the caller is itself such a task or callback, and 0
// otherwise. Callers with own = 1 do not wait for each other, so two tasks may wait for
// all others. Callers with own = 0 wait for them, too.
func (r *Runner) Await(ctx context.Context, own int64) bool {
	w := &r.waiters
	w.awaited.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own += own
	w.wake() // for own
	defer func() { w.own -= own }()
	for r.busy() > w.allowed(own) {
		woken := make(chan struct{})
		w.enter(woken)
		w.mu.Unlock()
		select {
		case <-woken:
		case <-ctx.Done():
		}
		w.mu.Lock()
		delete(w.callers, woken)
		if ctx.Err() != nil {
			return r.busy() <= w.allowed(own)
		}
	}
	return true
}

// allowed returns the number of outstanding tasks for which an Await returns. Guarded
// by mu.
func (w *waiters) allowed(own int64) int64 {
	if own == 0 {
		return 0
	}
	return w.own
}

// Left returns the error of an Await whose context ended.
func (r *Runner) Left(ctx context.Context, own int64) *hwt.ShutdownError {
	running, waiting := r.Outstanding()
	if running < own { // the executor itself is the caller
		running, waiting = own, waiting-own
	}
	return &hwt.ShutdownError{Running: running - own, Waiting: waiting, Err: ctx.Err()}
}

// Ended must be called after an outstanding task or callback has ended.
func (r *Runner) Ended() {
	w := &r.waiters
	if !w.awaited.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.busy() <= w.own {
		w.wake()
	}
}

// enter has wake close woken. Guarded by mu.
func (w *waiters) enter(woken chan struct{}) {
	if w.callers == nil {
		w.callers = make(map[chan struct{}]bool)
	}
	w.callers[woken] = InBubble()
}

// wake wakes the callers of Await, from outside a bubble only those outside: to close the
// channel of a bubble would end the process. Guarded by mu.
func (w *waiters) wake() {
	inside := InBubble()
	for woken, isInside := range w.callers {
		if inside || !isInside {
			close(woken)
			delete(w.callers, woken)
		}
	}
}

// CallLate starts a goroutine for call, which gives a notice that no worker gives any
// more. Of a timer with an executor, Given counts the notice already.
func (r *Runner) CallLate(call func()) {
	if r.Executor != nil {
		go call()
		return
	}
	r.late.Add(1)
	go func() {
		defer func() {
			r.late.Add(-1)
			r.Ended()
		}()
		call()
	}()
}
