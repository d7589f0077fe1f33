package clock

import "context"

// Package context calls Value with a key that no other package has, to find the nearest context
// made by package context. context.Cause takes the cause from that context, and a new child
// becomes its child. If a context left the answer to the parents, the cause could come from a
// parent that ended later, and each child would need a goroutine. This package obtains the key
// from a call of context.Cause on a context that records keys, and answers.
//
// If a later version of Go finds contexts in another way, causeKey is nil. Then children
// have goroutines, and causes are right except causes passed to WithTimeoutCause and causes
// of parents that end later. The tests of this package would fail.

// keyProbe is a context that records the last key passed to Value.
type keyProbe struct {
	context.Context
	key any
}

// Err makes context.Cause look for a cause.
func (*keyProbe) Err() error { return context.Canceled }

// Value records key, and finds no value.
func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

var causeKey = func() any {
	p := &keyProbe{Context: context.Background()}
	_ = context.Cause(p)
	return p.key
}()

// answer returns a context that was cancelled with the cause. It returns nil if the cause
// equals Err; context.Cause then returns Err.
func (c *deadlineCtx) answer() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() == live || c.details == nil || c.details.cause == nil {
		return nil
	}
	if c.details.answer == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.details.cause)
		c.details.answer = ctx
	}
	return c.details.answer
}
