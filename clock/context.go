package clock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// A deadlineCtx is linked to its parent late: not before somebody waits for it,
// that is, calls Done or makes a child. Until then Err asks the parent, so that
// nobody can tell; and most contexts with a deadline cost no link at all.
//
//	X1. state leaves live once, under mu, in end, after everything that Cause will
//	    ask for was stored. Whoever made the change does what is left: the timeout,
//	    the link and the callbacks.
//	X2. Before mu is released again, done is closed. Err, where it sees an end,
//	    waits for that. So Err is nil before Done is closed, and not after.
//	X3. mu is not held while anything is called: a callback of package context
//	    takes the lock of a child, which package context holds when it calls
//	    AfterFunc. mu comes after such locks.
//	X4. A link calls cancel, which looks at the parent before it says Canceled. So
//	    one function serves the user, the parent and the link.

// deadlineCtx is a context whose deadline the timer holds. With the function that
// cancels it and its timeout it takes three allocations, 192 bytes in all.
type deadlineCtx struct {
	parent   context.Context // Immutable.
	deadline time.Time       // Immutable.
	cancel   func()          // Immutable once made.
	timeout  hwt.Timeout     // Immutable once made, before anybody but the timer knows the context. Nil if the deadline had passed.

	state atomic.Int32 // Atomic: written under mu, read by all (X1).
	mu    sync.Mutex
	done  atomic.Value // of chan struct{}, made by the first who asks. Atomic: written under mu.
	rest  rest         // what is to be done at the end. Guarded by mu.
	more  *more        // what few contexts have. Guarded by mu.
}

const (
	live     int32 = iota
	canceled       // Err is context.Canceled
	exceeded       // Err is context.DeadlineExceeded
	foreign        // Err is the parent's own, in more
)

// more is what few contexts have. All of it is guarded by the context's mu.
type more struct {
	ifExceeded error           // the cause, if the deadline passes
	err        error           // what Err returns, if state is foreign
	cause      error           // what Cause returns, if not Err
	answer     context.Context // tells package context the cause: see Value
}

// closed is the Done channel of contexts that nobody asked for theirs in time.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Deadline implements context.Context.
func (c *deadlineCtx) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c *deadlineCtx) Err() error {
	c.heed()
	state := c.state.Load()
	if state == live {
		return nil
	}
	<-c.Done() // X2
	switch state {
	case canceled:
		return context.Canceled
	case exceeded:
		return context.DeadlineExceeded
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.more.err
	}
}

// Done implements context.Context. Somebody waits now, so it links.
func (c *deadlineCtx) Done() <-chan struct{} {
	c.heed()
	if d, ok := c.done.Load().(chan struct{}); ok {
		return d
	}
	c.mu.Lock()
	d, ok := c.done.Load().(chan struct{})
	if !ok {
		d = make(chan struct{})
		c.done.Store(d)
	}
	c.mu.Unlock()
	if !ok {
		c.link()
	}
	return d
}

// heed ends the context if its parent has ended.
func (c *deadlineCtx) heed() {
	if c.state.Load() == live && c.parent.Err() != nil {
		c.cancel()
	}
}

// Value implements context.Context. Package context looks for the cause of an
// end by a key of its own, where it expects a context of its own.
func (c *deadlineCtx) Value(key any) any {
	switch key {
	case causeKey:
		return c.answer()
	case selfKey:
		return c
	}
	return c.parent.Value(key)
}

// String tells what package context tells.
func (c *deadlineCtx) String() string {
	parent := fmt.Sprintf("%T", c.parent)
	if s, ok := c.parent.(fmt.Stringer); ok {
		parent = s.String()
	}
	return fmt.Sprintf("%s.WithDeadline(%v [%v])", parent, c.deadline, time.Until(c.deadline))
}

// expiry is a deadlineCtx as the task of its timeout.
type expiry deadlineCtx

// Run implements hwt.TimerTask. Whoever is to be told is not known, and may be
// many: they get a goroutine, so that the timer's worker has done with this at
// once. It does not look at timeout, which may not be stored yet.
func (e *expiry) Run(hwt.Timeout) error {
	c := (*deadlineCtx)(e)
	if c.parent.Err() != nil {
		go c.finish()
		return nil
	}
	if left := c.end(exceeded, nil, nil); left.unlink != nil || left.callbacks != nil {
		go left.run()
	}
	return nil
}

// stop is what cancel does.
func (c *deadlineCtx) stop() {
	if c.state.Load() != live {
		return
	}
	c.finish()
	if c.timeout != nil {
		c.timeout.Cancel()
	}
}

// finish ends the context as its parent ended, or else as canceled.
func (c *deadlineCtx) finish() {
	state, err, cause := canceled, c.parent.Err(), error(nil)
	if err != nil { // it came first
		state, cause = stateOf(err), context.Cause(c.parent)
	}
	left := c.end(state, err, cause)
	left.run()
}

func stateOf(err error) int32 {
	switch err {
	case context.Canceled:
		return canceled
	case context.DeadlineExceeded:
		return exceeded
	}
	return foreign
}

// end ends the context, unless that has happened, and returns what is left to do.
// err and cause are the parent's, or nil.
func (c *deadlineCtx) end(state int32, err, cause error) (left rest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != live {
		return rest{}
	}
	if state == exceeded && err == nil && c.more != nil {
		cause = c.more.ifExceeded
	}
	if state == foreign || cause != nil && cause != err {
		m := c.extra()
		m.err, m.cause = err, cause
	}
	c.state.Store(state) // Linearization point of the end (X1).
	if d, ok := c.done.Load().(chan struct{}); ok {
		close(d)
	} else {
		c.done.Store(closed)
	}
	left, c.rest = c.rest, rest{}
	return left
}

// extra returns more, which it makes if need be. Guarded by mu.
func (c *deadlineCtx) extra() *more {
	if c.more == nil {
		c.more = new(more)
	}
	return c.more
}

// rest is what is left to do after the end, without mu: X3.
type rest struct {
	callbacks *callback   // to be called
	unlink    func() bool // takes the context from its parent
}

func (r rest) run() {
	if r.unlink != nil {
		r.unlink()
	}
	for b := r.callbacks; b != nil; b = b.next {
		b.f()
	}
}
