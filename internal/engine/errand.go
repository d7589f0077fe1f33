package engine

import (
	"sync/atomic"
	"time"
)

// errands are the runtime timers of a worker that call functions. On a busy machine, the
// goroutine of such a call may begin long after its time. Stop waits for it: see
// worker.checkDone.
type errands struct {
	out  atomic.Int64 // errands that are set, and calls that have not ended. Atomic: written by all.
	none func()       // called when out becomes 0. Immutable after New.
}

// errand is a runtime timer that calls a function when it is due.
type errand struct {
	timer *time.Timer
	all   *errands
}

// make returns an errand that is not set.
func (a *errands) make(f func()) errand {
	timer := time.AfterFunc(forever, func() {
		defer a.end()
		f()
	})
	timer.Stop()
	return errand{timer, a}
}

// end counts an errand that is no longer set, or a call that has ended.
func (a *errands) end() {
	if a.out.Add(-1) == 0 {
		a.none()
	}
}

// Reset sets the errand to d from now. If it was set already, it is due once.
func (e errand) Reset(d time.Duration) {
	e.all.out.Add(1) // first, since it may be due at once
	if e.timer.Reset(d) {
		e.all.end()
	}
}

// Stop makes sure that the errand is not set. It reports whether it was.
func (e errand) Stop() bool {
	was := e.timer.Stop()
	if was {
		e.all.end()
	}
	return was
}
