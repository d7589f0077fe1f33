package soak

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// entry is one timeout and its task.
type entry struct {
	round   *round
	kind    int          // of the task. Immutable.
	timeout hwt.Timeout  // Written once by the caller that made it, and used by that one alone.
	dueAt   atomic.Int64 // The task must not run before. Atomic: written by its caller, read by its task.
	dueBy   int64        // The deadline must not be later. Used by the caller alone.
	ends    atomic.Int32 // Must become 1.
}

// noticed is an entry whose task has a Cancelled method.
type noticed struct{ *entry }

// Cancelled implements hwt.CancelledTask.
func (n noticed) Cancelled(hwt.Timeout) {
	n.round.notified.Add(1)
	if n.kind%100 == 0 {
		n.round.faults.Add(1)
		panic("a cancelled task")
	}
}

// Run implements hwt.TimerTask.
func (e *entry) Run(timeout hwt.Timeout) error {
	r := e.round
	r.busy.Add(1)
	defer r.busy.Add(-1)
	r.taskBegins(e.due())
	e.ended()
	if timeout.Cancel() || timeout.Reset(0) || !timeout.IsExpired() {
		r.twice.Add(1)
	}
	return r.injectFault(e, timeout)
}

func (e *entry) due() int64 { return e.dueAt.Load() }

func (e *entry) ended() {
	if e.ends.Add(1) > 1 {
		e.round.twice.Add(1)
	}
}

func (e *entry) cancel() {
	if !e.timeout.Cancel() {
		return
	}
	e.ended()
	if e.isNoticed() {
		e.round.toNotify.Add(1)
	}
}

func (e *entry) isNoticed() bool { return e.kind%2 == 0 }

// reset resets the timeout. While the outcome is open, the earlier moment counts
// as due.
func (e *entry) reset(delay time.Duration) {
	before, after := e.dueAt.Load(), e.round.after(delay)
	e.dueAt.Store(min(before, after))
	if e.timeout.Reset(delay) {
		e.dueAt.Store(after)
		e.dueBy = e.round.after(delay)
	}
}

// pending reports whether the timeout has not ended, or Stop returned it.
func (e *entry) pending() bool { return !e.timeout.IsExpired() && !e.timeout.IsCancelled() }

// newEntry returns an entry without a timeout yet, and its task.
func (r *round) newEntry(kind int, delay time.Duration) (*entry, hwt.TimerTask) {
	e := &entry{round: r, kind: kind}
	e.dueAt.Store(r.after(delay))
	if e.isNoticed() {
		return e, noticed{e}
	}
	return e, e
}

// schedule makes an entry, or returns nil if the timer is stopped.
func (r *round) schedule(kind int, delay time.Duration) *entry {
	e, task := r.newEntry(kind, delay)
	timeout, err := r.timer.NewTimeout(task, delay)
	if err != nil {
		return nil
	}
	e.timeout, e.dueBy = timeout, r.after(delay)
	r.accept(e)
	return e
}

// accept counts entries that have a timeout.
func (r *round) accept(accepted ...*entry) {
	r.accepted.Add(int64(len(accepted)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, accepted...)
}

// unended returns the number of timeouts that have not ended, once the timer is stopped and no
// task runs. A task that the executor dropped has no end.
func (r *round) unended() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.all {
		if e.ends.Load() == 0 && !(e.timeout.IsExpired() && r.dropped.Load() > 0) {
			n++
		}
	}
	r.all = nil // the runtime may hold a stopped timer for long, and with it its error handler
	return n
}
