package enginekit

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// waiters are the callers of Await. Whatever ends calls Ended after it was counted,
// and Await counts after it has set awaited; so one of them sees the other.
type waiters struct {
	awaited atomic.Bool // Atomic: set by Await, for good.

	mu     sync.Mutex
	own    int64         // Guarded by mu. What callers of Await run themselves.
	woken  chan struct{} // Guarded by mu. Closed to have them count again; nil if none waits.
	inside bool          // Guarded by mu. woken belongs to a synctest bubble.
}

// Outstanding returns how many tasks and callbacks run, and how many wait in the
// executor. What a timer's worker runs itself is not included.
func (r *Runner) Outstanding() (running, waiting int64) {
	running = r.late.Load()
	switch {
	case r.Executor == nil && r.Running != nil:
		running += r.Running()
	case r.Executor != nil && r.Given != nil:
		ended, begun := r.ended.Load(), r.begun.Load()
		running += begun - ended
		waiting = r.Given() - begun // read last, or it might be below zero
	}
	return running, waiting
}

func (r *Runner) busy() int64 {
	running, waiting := r.Outstanding()
	return running + waiting
}

// Await waits until nothing is outstanding, or ctx ends, which is when it returns
// false. If the caller itself is in what the runner runs, own is 1, otherwise 0. Such
// callers do not wait for each other: two tasks may wait for all others. Everybody else
// waits for them, too.
func (r *Runner) Await(ctx context.Context, own int64) bool {
	w := &r.waiters
	w.awaited.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own += own
	w.wake() // for own
	defer func() { w.own -= own }()
	for r.busy() > w.allowed(own) {
		if w.woken == nil {
			w.woken, w.inside = make(chan struct{}), InBubble()
		}
		woken := w.woken
		w.mu.Unlock()
		select {
		case <-woken:
		case <-ctx.Done():
		}
		w.mu.Lock()
		if ctx.Err() != nil {
			return r.busy() <= w.allowed(own)
		}
	}
	return true
}

// allowed returns how much may be outstanding when an Await returns. Guarded by mu.
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

// Ended is to be called when something outstanding has ended.
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

// wake wakes the callers of Await, unless they are in a bubble and the caller is not:
// then closing their channel would end the process. Guarded by mu.
func (w *waiters) wake() {
	if w.woken != nil && w.inside == InBubble() {
		close(w.woken)
		w.woken = nil
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
