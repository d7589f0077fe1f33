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
// Most contexts with a deadline are cancelled before anybody waits for them. A
// deadlineCtx is light until somebody does, that is, calls Done or makes a child:
// until then Err asks the parent, so that nobody can tell the difference. Then it
// gets a core, a context of package context's own, which has the Done channel and
// the children; and a link, by which the parent's end reaches it.
//
//	X1. state leaves live once, under mu, in end, after everything that Err and
//	    Cause will ask for was stored. Whoever made the change does what is left:
//	    the core, the link, the timeout.
//	X2. After the end no core is made, and one that was made is cancelled by
//	    whoever made the end. Err, where it sees an end, waits for that. So Err is
//	    nil before Done is closed, and not after.
//	X3. mu is not held while package context is called, but for making the core,
//	    which calls nobody but the bridge. What package context then does under
//	    locks of its own is as with its own contexts: nobody else's code.
//	X4. A link calls cancel, which looks at the parent before it says Canceled. So
//	    one function serves the user, the parent and the link.

// deadlineCtx is a context whose deadline the timer holds. With the function that
// cancels it and its timeout it takes three allocations, 192 bytes in all.
type deadlineCtx struct {
	parent   context.Context // Immutable.
	deadline time.Time       // Immutable.
	cancel   func()          // Immutable once made.
	timeout  hwt.Timeout     // Immutable once made, before anybody but the timer knows the context. Nil if it had ended by then.

	state atomic.Int32 // Atomic: written under mu, read by all (X1).
	mu    sync.Mutex
	core  atomic.Value // of context.Context, made by the first who waits. Atomic: written under mu.
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
	answer     context.Context // has the cause, for package context: see cause.go
}

// Deadline implements context.Context.
func (c *deadlineCtx) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c *deadlineCtx) Err() error {
	c.heed()
	if c.state.Load() == live {
		return nil
	}
	<-c.Done() // X2
	return c.err()
}

// err returns what Err does, without waiting.
func (c *deadlineCtx) err() error {
	switch c.state.Load() {
	case live:
		return nil
	case canceled:
		return context.Canceled
	case exceeded:
		return context.DeadlineExceeded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.more.err
}

// Done implements context.Context. Somebody waits now.
func (c *deadlineCtx) Done() <-chan struct{} {
	c.heed()
	if core, ok := c.core.Load().(context.Context); ok {
		return core.Done()
	}
	return c.waited()
}

// heed ends the context if its parent has ended.
func (c *deadlineCtx) heed() {
	if c.state.Load() == live && c.parent.Err() != nil {
		c.cancel()
	}
}

// Value implements context.Context. Package context looks for the nearest context
// of its own, by a key of its own, to make it the parent of a child, or to learn
// the cause of an end: that is the core.
func (c *deadlineCtx) Value(key any) any {
	if key != causeKey {
		return c.parent.Value(key)
	}
	if core := c.core.Load(); core != nil {
		return core
	}
	return c.answer()
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

// Run implements hwt.TimerTask. It does not look at timeout, which may not be
// stored yet.
func (e *expiry) Run(hwt.Timeout) error {
	c := (*deadlineCtx)(e)
	if c.parent.Err() != nil {
		c.finish()
	} else {
		c.end(exceeded, nil, nil)
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
	c.end(state, err, cause)
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

// end ends the context, unless that has happened. err and cause are the parent's,
// or nil.
func (c *deadlineCtx) end(state int32, err, cause error) {
	rest := c.settle(state, err, cause)
	if rest.cancelCore != nil {
		rest.cancelCore()
	}
	if rest.unlink != nil {
		rest.unlink()
	}
}

// settle changes the state, and returns what is left to do, without mu: X3.
func (c *deadlineCtx) settle(state int32, err, cause error) (left rest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != live {
		return rest{}
	}
	if state == exceeded && err == nil && c.more != nil {
		cause = c.more.ifExceeded
	}
	if state == foreign || cause != nil && cause != err {
		if c.more == nil {
			c.more = new(more)
		}
		c.more.err, c.more.cause = err, cause
	}
	c.state.Store(state) // Linearization point of the end (X1).
	left, c.rest = c.rest, rest{}
	return left
}

// rest is what is left to do after the end.
type rest struct {
	cancelCore func()      // passes the end on to the core and its children
	unlink     func() bool // takes the context from its parent
}
