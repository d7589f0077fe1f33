package durable

import (
	"context"
	"errors"
	"time"
)

// errDrained ends the contexts of handlers that DrainTimeout was too short for.
var errDrained = errors.New("durable: Work has ended")

// drain hands unclaimed timers back and waits for the others. No fetch is under
// way any more.
func (w *worker) drain() {
	// A lease that is not claimed has a timeout on the wheel, or a claim under way.
	// Claims find that the worker drains; timeouts that are further away are not
	// waited for.
	for _, l := range w.unclaimed() {
		w.handBackWaiting(l)
	}
	stop := w.limitDrain()
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.held) > 0 {
		w.room.Wait()
	}
}

// limitDrain ends the handlers' contexts after the drain timeout.
func (w *worker) limitDrain() (stop func() bool) {
	if w.options.DrainTimeout < 0 {
		w.endCall(errDrained)
		return func() bool { return true }
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.options.DrainTimeout)
	end := context.AfterFunc(ctx, func() { w.endCall(errDrained) })
	return func() bool { stopped := end(); cancel(); return stopped }
}

// unclaimed returns the leases whose claim is a timeout on the wheel.
func (w *worker) unclaimed() (out []*lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.held {
		if l.waiting != nil {
			out = append(out, l)
		}
	}
	return out
}

// handBackWaiting cancels the timeout of a lease and hands it back, unless the
// timeout has expired.
func (w *worker) handBackWaiting(l *lease) {
	w.mu.Lock()
	timeout := l.waiting
	w.mu.Unlock()
	if timeout != nil && timeout.Cancel() {
		w.handBack(l, time.Millisecond)
	}
}
