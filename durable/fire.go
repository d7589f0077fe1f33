package durable

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// awaitDue puts a claimed row into the queue when it is due. If the clock was set back far, the
// row goes back to the table.
func (w *worker) awaitDue(h *held) {
	wait := h.untilDue()
	if wait > w.store.limits.Lead {
		w.finish(h, backend.Outcome{Fate: backend.Release})
		return
	}
	h.move(waiting)
	w.after(wait, func() { w.enqueue(h) })
}

// enqueue puts a row into the queue. Once that is closed, the row goes back to the table.
func (w *worker) enqueue(h *held) {
	if !w.queue.put(h) {
		w.finish(h, backend.Outcome{Fate: backend.Release})
	}
}

// handle calls handlers until the queue is closed.
func (w *worker) handle(all *sync.WaitGroup, c *caller) {
	closed := false
	c.goroutine.Store(goroutineID())
	defer func() {
		if !closed { // the handler ended its goroutine
			go w.handle(all, c)
			return
		}
		all.Done()
	}()
	for {
		h := w.queue.get()
		if h == nil {
			closed = true
			return
		}
		w.fire(h, c)
	}
}

// fire calls the handler for a row, unless it is early, too late, or no longer held.
func (w *worker) fire(h *held, c *caller) {
	h.move(firing)
	s := w.store
	if s.clock.stale() && s.clock.measure(w.contextOf()) != nil && w.lease.holds(h.term) {
		// feed logs the error. Without the lease, the row is dropped below.
		h.move(waiting)
		w.after(gather, func() { w.enqueue(h) })
		return
	}
	late := -h.untilDue()
	if late < 0 {
		w.awaitDue(h)
		return
	}
	if h.row.NotAfter != 0 && h.row.Due+int64(late) > h.row.NotAfter {
		w.bury(h, errTooLate)
		return
	}
	e, err := entryOf(&h.row)
	if err != nil {
		w.bury(h, err)
		return
	}
	e.Payload = bytes.Clone(e.Payload) // the handler may change it
	ctx, cancel := context.WithCancelCause(w.contextOf())
	defer cancel(nil)
	if !w.lease.holds(h.term) {
		s.counts.fenced.Add(1)
		w.drop(h)
		return
	}
	s.counts.fired.Add(1)
	s.counts.lateness.note(late)
	w.call(ctx, h, c, Firing{e, firingID(&h.row), late, h})
}

var errTooLate = fmt.Errorf("durable: the entry could not fire by its NotAfter")

// call calls the handler and puts the row into finished, even if the handler panics or
// ends its goroutine.
func (w *worker) call(ctx context.Context, h *held, c *caller, f Firing) {
	err := errGoexit
	fate, wait := w.options.judge(h.row.Attempt, err, false)
	defer func() { w.returned(h, err, fate, wait) }()
	c.begun.Store(time.Now().UnixNano())
	defer c.begun.Store(0)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("durable: the handler panicked: %v", p)
			w.log.Error("durable: the handler panicked", "id", f.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err = w.handler(ctx, f); err != nil {
		fate, wait = w.options.judge(h.row.Attempt, err, ctx.Err() != nil) // calls methods of err, which may panic
	}
}

var errGoexit = fmt.Errorf("durable: the handler ended its goroutine")

// returned puts a row whose handler has returned into finished. After an error, it has the fate.
func (w *worker) returned(h *held, err error, fate backend.Fate, wait time.Duration) {
	if err == nil {
		w.store.counts.succeeded.Add(1)
		w.finish(h, backend.Outcome{Fate: backend.Done})
		return
	}
	due := w.store.clock.nanos()
	due += min(int64(wait), maxDue.UnixNano()-due)
	if fate == backend.Bury || fate == backend.Retry && h.row.NotAfter != 0 && due > h.row.NotAfter {
		w.bury(h, err)
		return
	}
	w.finish(h, backend.Outcome{Fate: fate, Due: due})
}

// maxErrorSize is the number of bytes that are stored of an error's text.
const maxErrorSize = 1024

// bury makes a row a dead letter.
func (w *worker) bury(h *held, cause error) {
	text := fmt.Sprint(cause) // survives an Error that panics
	text = strings.ToValidUTF8(text[:min(len(text), maxErrorSize)], "")
	w.finish(h, backend.Outcome{Fate: backend.Bury, Error: text})
}

// contextOf returns the parent of handlers' contexts under the present lease.
func (w *worker) contextOf() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// endHandlers ends the contexts of the running handlers.
func (w *worker) endHandlers(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endCall(cause)
	w.calls, w.endCall = context.WithCancelCause(w.work)
}

// doneTx stores the outcome of a running handler inside its transaction.
func (w *worker) doneTx(ctx context.Context, tx backend.Tx, h *held) error {
	id, _, _ := w.lease.current()
	if !w.lease.holds(h.term) {
		return ErrLeaseLost
	}
	applied, err := tx.Finish(ctx, id, []backend.Outcome{{Ref: h.row.Ref(), Fate: backend.Done}})
	if err == nil && !applied[0] {
		err = ErrLeaseLost
	}
	return err
}
