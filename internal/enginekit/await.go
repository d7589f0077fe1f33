package enginekit

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// waiters are the callers of Await. A task or callback calls Ended after being counted as
// ended, and Await counts after setting awaited, so one side sees the other.
type waiters struct {
	awaited atomic.Bool // Atomic: set by Await, for good.

	mu      sync.Mutex
	own     int64                  // The sum of own of all callers. Guarded by mu.
	callers map[chan struct{}]bool // Closed to make a caller count again. The value says whether it is in a synctest bubble. Guarded by mu.
}

// submitted returns the number of tasks and callbacks that were handed to executors.
func (r *Runner) submitted() int64 {
	if r.Executor != nil {
		return r.Submitted()
	}
	return r.handed.Load()
}

// elsewhere returns the number of tasks and callbacks on goroutines that are neither a
// worker's nor an executor's.
func (r *Runner) elsewhere() int64 {
	n := r.late.Load()
	if r.Executor == nil && r.Running != nil {
		n += r.Running()
	}
	return n
}

// busy returns the number of outstanding tasks and callbacks. busy counts goroutines outside
// of executors first, because they may hand work to an executor and end. busy does not count
// tasks that a worker runs itself.
func (r *Runner) busy() int64 {
	n := r.elsewhere()
	_, most := Between(r.submitted, r.ended.Load)
	return n + most
}

// waiting returns the number of tasks and callbacks that an executor has received and not begun.
func (r *Runner) waiting() int64 {
	n, _ := Between(r.submitted, r.begun.Load)
	return n
}

// Await waits until all outstanding tasks and callbacks have ended. Await returns false if
// ctx ends first. own is the number of times that the caller itself was counted: the result
// of Own for a task or callback, and 0 for all other callers. Tasks do not wait for each
// other, so two tasks may wait for all others. Callers with own = 0 wait for those two,
// too.
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

// Left returns the error for an Await with the same own after its context has ended.
func (r *Runner) Left(ctx context.Context, own int64) *hwt.ShutdownError {
	waiting, elsewhere := r.waiting(), r.elsewhere()
	running, _ := Between(r.begun.Load, r.ended.Load)
	running += elsewhere
	ownRunning := min(running, own) // the rest waits: an executor is the caller
	return &hwt.ShutdownError{Running: running - ownRunning, Waiting: waiting - (own - ownRunning), Err: ctx.Err()}
}

// GiveUp ends the contexts of tasks and returns left. If nothing is left, it only returns
// nil.
func (r *Runner) GiveUp(left *hwt.ShutdownError) error {
	if left.Running+left.Waiting <= 0 && len(left.Tasks) == 0 {
		return nil
	}
	r.EndContexts()
	return left
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
