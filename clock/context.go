package clock

import (
	"context"
	"time"
)

// WithTimeout is [context.WithTimeout] with the deadline kept by the clock's timer:
// the context is done when d has passed or up to one tick later. If d is zero or less,
// it is done immediately.
//
// It makes three allocations of 192 bytes in total, and takes O(1) time for any number
// of pending timeouts. The CancelFunc releases the timeout immediately.
func (c *Clock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.withDeadline(parent, time.Now().Add(d), d, nil)
}

// WithTimeoutCause is [Clock.WithTimeout] with a cause. [context.Cause] returns the cause if
// the deadline passes.
func (c *Clock) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return c.withDeadline(parent, time.Now().Add(d), d, cause)
}

// WithDeadline is [context.WithDeadline] with the deadline kept by the clock's timer: the
// context is done at t or up to one tick later. If t has passed, the context is done
// immediately. If the parent's deadline is earlier, the context needs no timeout and ends
// with the parent.
func (c *Clock) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return c.withDeadline(parent, t, time.Until(t), nil)
}

// WithDeadlineCause is [Clock.WithDeadline] with a cause. [context.Cause] returns the cause if
// the deadline passes.
func (c *Clock) WithDeadlineCause(parent context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	return c.withDeadline(parent, t, time.Until(t), cause)
}

func (c *Clock) withDeadline(parent context.Context, t time.Time, left time.Duration, cause error) (context.Context, context.CancelFunc) {
	if parent == nil {
		panic("clock: cannot create context from nil parent")
	}
	ctx := &deadlineCtx{clock: c, parent: parent, deadline: t}
	ctx.cancel = ctx.stop
	if earlier, ok := parent.Deadline(); ok && earlier.Before(t) {
		ctx.deadline, ctx.inherits = earlier, true
	}
	switch {
	case parent.Err() != nil:
		ctx.cancel()
	case ctx.inherits: // the parent's end
	case left <= 0:
		ctx.setCause(cause)
		ctx.end(exceeded, nil, nil)
	default:
		ctx.setCause(cause)
		ctx.timeout = c.arm((*contextTask)(ctx), left)
	}
	return ctx, ctx.cancel
}
