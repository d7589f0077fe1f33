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
// Most contexts with a deadline are cancelled before anything waits for Done. For this reason,
// a deadlineCtx starts without a Done channel and without a place among the parent's children;
// instead, Err and Done call Err of the parent first. The first call of Done, also by a new
// child, creates a core and a link. The core is a context of package context with the Done
// channel and the children. Through the link the end of the parent reaches the context. See
// bridge.go.
//
//	X1. state leaves live once, under mu, in commit, after everything that Err and
//	    Cause need was stored. The goroutine that changed it cleans up: it cancels
//	    the core and removes the link.
//	X2. No core is created after the end, and the goroutine that ended the context
//	    cancels the core that exists, and then adds finished to state. Err and cancel
//	    wait until Done is closed. Therefore Err is nil until then, and not nil
//	    afterwards. They do not receive once state is finished: a context that ended in a
//	    synctest bubble may be cancelled again outside it.
//	X3. mu is not held during a call of package context, with one exception: the creation of the
//	    core, which calls only the bridge.
//	X4. The link calls cancel. cancel takes the error of the parent, or Canceled if the parent
//	    has not ended, so one function serves the user, Err and the link.

// deadlineCtx is a context with a deadline on the timer. With the cancel function and the
// timeout, a deadlineCtx takes three allocations, 192 bytes in all.
type deadlineCtx struct {
	clock    *Clock          // Immutable.
	parent   context.Context // Immutable.
	deadline time.Time       // Immutable once made.
	cancel   func()          // Immutable once made.
	timeout  hwt.Timeout     // Nil if the parent ends first. Immutable once made; the task does not read it.

	state    atomic.Int32 // Atomic: written under mu and by the goroutine that ended it, read by all (X1, X2).
	inherits bool         // The deadline is the earlier one of the parent. Immutable once made.
	mu       sync.Mutex
	core     atomic.Value // Of context.Context. Atomic: written under mu, read by all.
	cleanup  cleanup      // Guarded by mu.
	details  *details     // Nil for most contexts. Guarded by mu.
}

const (
	live     int32 = iota
	canceled       // Err is context.Canceled.
	exceeded       // Err is context.DeadlineExceeded.
	foreign        // Err is the error of a parent of another kind, in details.
)

// finished is the bit of state that is set after Done is closed.
const finished int32 = 1 << 2

// cleanup holds the functions that the end of a context must call.
type cleanup struct {
	cancelCore func()      // Ends the core and its children.
	unlink     func() bool // Removes the link from the parent.
}

// details are fields that few contexts need. The context's mu guards it.
type details struct {
	ifExceeded error           // The cause if the deadline passes.
	err        error           // The result of Err if state is foreign.
	cause      error           // The result of Cause if it differs from Err.
	answer     context.Context // Has the cause, for package context. See cause.go.
}

// Deadline implements [context.Context].
func (c *deadlineCtx) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements [context.Context].
func (c *deadlineCtx) Err() error {
	c.checkParent()
	if c.state.Load() == live {
		return nil
	}
	c.await()
	return c.err()
}

// await waits until a context that has left live is finished (X2).
func (c *deadlineCtx) await() {
	if c.state.Load()&finished == 0 {
		<-c.Done()
	}
}

// err is Err without waiting.
func (c *deadlineCtx) err() error {
	switch c.state.Load() &^ finished {
	case live:
		return nil
	case canceled:
		return context.Canceled
	case exceeded:
		return context.DeadlineExceeded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.details.err
}

// Done implements [context.Context].
func (c *deadlineCtx) Done() <-chan struct{} {
	c.checkParent()
	if core, ok := c.core.Load().(context.Context); ok {
		return core.Done()
	}
	return c.ensureCore()
}

// checkParent ends the context if its parent has ended.
func (c *deadlineCtx) checkParent() {
	if c.state.Load() == live && c.parent.Err() != nil {
		c.cancel()
	}
}

// Value implements [context.Context]. Package context has a private key to find the nearest
// context made by package context, here the core. That context becomes the parent of a
// child and knows the cause of an end.
func (c *deadlineCtx) Value(key any) any {
	if key != causeKey {
		return c.parent.Value(key)
	}
	if core := c.core.Load(); core != nil {
		return core
	}
	return c.answer()
}

// String returns the same text as a context of package context.
func (c *deadlineCtx) String() string {
	parent := fmt.Sprintf("%T", c.parent)
	if s, ok := c.parent.(fmt.Stringer); ok {
		parent = s.String()
	}
	if c.inherits {
		return parent + ".WithCancel"
	}
	return fmt.Sprintf("%s.WithDeadline(%v [%v])", parent, c.deadline, time.Until(c.deadline))
}

// setCause sets the cause of a deadline that passes. It is called before the context is
// shared.
func (c *deadlineCtx) setCause(cause error) {
	if cause != nil {
		c.details = &details{ifExceeded: cause}
	}
}

// contextTask is a deadlineCtx as the task of its timeout.
type contextTask deadlineCtx

// Run implements [hwt.TimerTask].
func (x *contextTask) Run(hwt.Timeout) error {
	c := (*deadlineCtx)(x)
	if c.parent.Err() != nil {
		c.endAsParent()
	} else {
		c.end(exceeded, nil, nil)
	}
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *contextTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// stop is the function behind cancel.
func (c *deadlineCtx) stop() {
	if c.state.Load() == live {
		c.endAsParent()
		if c.timeout != nil {
			c.timeout.Cancel()
		}
	}
	c.await()
}

// endAsParent ends the context as the parent ended, or as canceled if the parent has not
// ended.
func (c *deadlineCtx) endAsParent() {
	state, err, cause := canceled, c.parent.Err(), error(nil)
	if err != nil { // the parent was first
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

// end ends the context, unless it has ended. err and cause are the parent's, or
// nil.
func (c *deadlineCtx) end(state int32, err, cause error) {
	cleanup := c.commit(state, err, cause)
	if cleanup.cancelCore != nil {
		cleanup.cancelCore()
		c.state.Add(finished)
	}
	if cleanup.unlink != nil {
		cleanup.unlink()
	}
}

// commit changes the state and returns the functions that the caller must call without
// mu (X3).
func (c *deadlineCtx) commit(state int32, err, cause error) cleanup {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != live {
		return cleanup{}
	}
	if state == exceeded && err == nil && c.details != nil {
		cause = c.details.ifExceeded
	}
	if state == foreign || cause != nil && cause != err {
		if c.details == nil {
			c.details = new(details)
		}
		c.details.err, c.details.cause = err, cause
	}
	left := c.cleanup
	c.cleanup = cleanup{}
	if left.cancelCore == nil { // no core that would have to be cancelled first
		state |= finished
	}
	c.state.Store(state) // Linearization point of the end (X1).
	return left
}
