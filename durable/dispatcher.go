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
	"github.com/hashedwheel/hwt/hashedwheel"
)

// dispatcher keeps the claimed rows of a kind on a wheel until they are due, and calls the handler for them. The
// wheel's goroutine only moves rows into the queue: a handler or a database call on it would
// make other rows late. The dispatcher checks time and lease last, immediately before the call.
type dispatcher struct {
	common
	completer *completer
	limiter   *limiter
	wheel     *hashedwheel.Timer
	kind      *kind
	handler   Handler
	queue     *queue
	callers   callers
	started   int            // callers with a goroutine. Guarded by the mu of queue.
	handlers  sync.WaitGroup // goroutines that call the handler
}

// start starts a further goroutine that calls the handler, up to Concurrency. A hundred kinds with few entries have few
// goroutines: the stack of each grows at the first call of the handler.
func (d *dispatcher) start() {
	if d.started < len(d.callers) {
		d.handlers.Add(1)
		go d.handle(&d.callers[d.started])
		d.started++
	}
}

// close lets no further handler start.
func (d *dispatcher) close() {
	for _, h := range d.queue.close() {
		d.completer.release(h)
	}
}

// room returns the number of overdue rows to claim now.
func (d *dispatcher) room() int { return max(0, overdueAhead*len(d.callers)-d.queue.len()) }

// await puts a claimed row into the queue when it is due. If the
// clock was set back far, the row goes back to the database.
func (d *dispatcher) await(h *flight) {
	wait := d.untilDue(&h.row)
	if wait > d.limits.Lead && h.row.Crashes == 0 {
		d.completer.release(h)
		return
	}
	h.move(waiting)
	d.enqueue(h, wait)
}

// enqueue puts a row into the queue after a time. Once the queue is closed, the row goes back to
// the database.
func (d *dispatcher) enqueue(h *flight, after time.Duration) {
	put := func() {
		if !d.queue.put(h) {
			d.completer.release(h)
		}
	}
	if after > 0 {
		if _, err := d.wheel.AfterFunc(after, put); err == nil {
			return
		}
	}
	put() // now, or since the wheel has stopped: Work has ended
}

// handle calls the handler until the queue is closed.
func (d *dispatcher) handle(c *caller) {
	closed := false
	c.goroutine.Store(goroutineID())
	defer func() {
		if !closed { // the handler ended its goroutine
			go d.handle(c)
			return
		}
		d.handlers.Done()
	}()
	for {
		h := d.queue.get()
		if h == nil {
			closed = true
			return
		}
		d.fire(h, c)
	}
}

// fire calls the handler for a row, unless it is early, too late, or no longer held.
func (d *dispatcher) fire(h *flight, c *caller) {
	h.move(firing)
	if d.clock.stale() && d.clock.measure(d.lease.callContext()) != nil && d.lease.holds(h.term) {
		// The fetcher logs the error. Without the lease, the row is dropped below.
		h.move(waiting)
		d.enqueue(h, gather)
		return
	}
	late := -d.untilDue(&h.row)
	if late < 0 {
		d.await(h)
		return
	}
	switch {
	case h.crashed():
		d.giveUp(h, fmt.Errorf("%w: %d", errCrashed, h.row.Crashes))
		return
	case h.expired(h.row.Due + int64(late)):
		d.giveUp(h, errTooLate)
		return
	}
	e, err := entryOf(&h.row)
	if err != nil {
		d.giveUp(h, err)
		return
	}
	e.Payload = bytes.Clone(e.Payload) // the handler may change it
	if !d.limiter.begin(h, c) {
		return
	}
	term := d.lease.callContext()
	if !d.lease.holds(h.term) {
		d.limiter.ended(h, c)
		d.counts.fenced.Add(1)
		d.flights.remove(h)
		return
	}
	d.kind.counts.fired.Add(1)
	d.kind.counts.lateness.note(late)
	d.call(term, h, c, Firing{e, firingID(&h.row), late, h, d.completer})
}

// call calls the handler and finishes the row, even if the handler panics or ends its goroutine. The
// attempt is interrupted if term ends.
func (d *dispatcher) call(term context.Context, h *flight, c *caller, f Firing) {
	ctx, end := d.limit(term, h, c)
	var fate backend.Fate
	var wait time.Duration
	err, judged := errGoexit, false
	c.begun.Store(time.Now().UnixNano())
	h.began = d.clock.nanos()
	defer func() {
		if err != nil && !judged {
			fate, wait = d.kind.options.judge(h.row.Attempt, errGoexit, false)
		}
		d.returned(h, err, fate, wait)
	}()
	defer d.limiter.ended(h, c)
	defer func() { // before the database or OnOutcome may take long
		end()
		c.begun.Store(0)
		h.ended = d.clock.nanos()
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("durable: the handler panicked: %v", p)
			d.options.Logger.Error("durable: the handler panicked", "id", f.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err = d.handler(ctx, f); err != nil {
		fate, wait = d.kind.options.judge(h.row.Attempt, err, term.Err() != nil) // calls methods of err that may panic
		judged = true
	}
}

// limit returns the context of an attempt, and a function for its end.
func (d *dispatcher) limit(term context.Context, h *flight, c *caller) (ctx context.Context, end func()) {
	limit := d.kind.options.Timeout
	if limit == 0 {
		return context.WithCancel(term)
	}
	ctx, cancel := context.WithTimeoutCause(term, limit, ErrTimeout)
	overtime := time.AfterFunc(limit+overtimeAfter, func() {
		d.kind.counts.overtime.Add(1)
		d.options.Logger.Error("durable: a handler has ignored the end of its context after Timeout",
			"key", h.row.Key, "id", firingID(&h.row), "timeout", limit, "stack", c.stack())
	})
	return ctx, func() {
		overtime.Stop()
		cancel()
	}
}

// overtimeAfter is the time after Timeout from which on a handler ignores the end of its context.
const overtimeAfter = time.Second

var errGoexit = fmt.Errorf("durable: the handler ended its goroutine")

// returned finishes a row after its handler has returned. After an error, it has the fate, unless the row is done.
func (d *dispatcher) returned(h *flight, err error, fate backend.Fate, wait time.Duration) {
	if err == nil || d.completer.acknowledged(h) {
		d.finish(h, backend.Outcome{Fate: backend.Done})
		return
	}
	due := d.clock.nanos()
	due += min(int64(wait), maxDue.UnixNano()-due)
	tooLate := h.row.NotAfter != 0 && due > h.row.NotAfter
	switch {
	case fate == backend.Postpone && tooLate:
		d.giveUp(h, errTooLate)
	case fate == backend.Bury || fate == backend.Retry && tooLate:
		d.giveUp(h, err)
	default:
		d.finish(h, backend.Outcome{Fate: fate, Due: due, Error: errorText(err)})
	}
}

// runOf returns the run of a row that ends with an outcome.
func runOf(h *flight, o *backend.Outcome) Run {
	run := Run{Due: time.Unix(0, h.row.Due).UTC(), Attempt: h.row.Attempt, Outcome: outcomes[o.Fate], Error: o.Error}
	if h.began != 0 {
		run.Began, run.Took = time.Unix(0, h.began).UTC(), time.Duration(h.ended-h.began)
	}
	return run
}

// finish passes on a row with the outcome of its claim, after OnOutcome.
func (d *dispatcher) finish(h *flight, o backend.Outcome) {
	if o.Fate == backend.Release || o.Fate == backend.Postpone {
		d.completer.finish(h, o)
		return
	}
	run := runOf(h, &o)
	if h.row.Every != "" && h.began != 0 {
		o.Last, o.Every = run.encode(), h.row.Every
	}
	defer d.completer.finish(h, o) // even if OnOutcome ends its goroutine
	d.tell(h, run)
}

// tell calls OnOutcome, if there is one.
func (d *dispatcher) tell(h *flight, run Run) {
	if d.kind.options.OnOutcome == nil {
		return
	}
	entry, _ := entryOf(&h.row) // which has at least the key
	e := Ended{entry, firingID(&h.row), run}
	defer func() {
		if p := recover(); p != nil {
			d.options.Logger.Error("durable: OnOutcome panicked", "id", e.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	d.kind.options.OnOutcome(d.lease.callContext(), e)
}

// maxErrorSize is the number of bytes that are stored of an error's text.
const maxErrorSize = 1024

// errorText returns the text that is stored of an error.
func errorText(err error) string {
	text := fmt.Sprint(err) // survives an Error that panics
	return strings.ToValidUTF8(text[:min(len(text), maxErrorSize)], "")
}

// giveUp makes a row a dead letter.
func (d *dispatcher) giveUp(h *flight, cause error) {
	d.finish(h, backend.Outcome{Fate: backend.Bury, Error: errorText(cause)})
}
