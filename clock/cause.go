package clock

import "context"

// Package context asks a context for the nearest context of its own, with a key
// that no other package has. context.Cause takes the cause from what it gets, and
// a new child becomes a child of it. If a context leaves the question to its
// parents, the cause may be that of a parent that ended later, and each child
// needs a goroutine. So this package obtains the key, by asking for the cause of a
// context that records it, and answers.
//
// If a later version of Go asks in another way, causeKey is nil. Then children
// have goroutines, and causes are right except those given to WithTimeoutCause and
// those of parents that end later. The tests of this package would fail.

// keyProbe is a context that records the key it was last asked for.
type keyProbe struct {
	context.Context
	key any
}

func (*keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

var causeKey = func() any {
	p := &keyProbe{Context: context.Background()}
	_ = context.Cause(p)
	return p.key
}()

// answer returns a context that was cancelled with the cause, or nil if the cause
// is what Err returns, which context.Cause knows itself.
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
