package clock

import "context"

// Package context asks a context for the nearest one of package context's own, by
// a key that nobody else has. context.Cause takes the cause from there, and who
// makes a child makes it the child of that. A context that did not answer would
// leave the question to its parents, who may end later and for another cause, and
// each of its children would need a goroutine. So this package learns the key, by
// asking for the cause of a context that remembers what it is asked, and answers.
//
// If a later Go asks in another way, causeKey is nil. Then causes are right but
// for those given to WithTimeoutCause and those of parents that end later, and
// children have goroutines. The tests would tell.

// asked remembers the key of the latest value it was asked for.
type asked struct {
	context.Context
	key any
}

func (*asked) Err() error { return context.Canceled }

func (a *asked) Value(key any) any {
	a.key = key
	return nil
}

var causeKey = func() any {
	a := &asked{Context: context.Background()}
	_ = context.Cause(a)
	return a.key
}()

// answer returns a context that was cancelled with the cause, or nil if that is
// what Err returns, which Cause knows itself.
func (c *deadlineCtx) answer() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() == live || c.more == nil || c.more.cause == nil {
		return nil
	}
	if c.more.answer == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.more.cause)
		c.more.answer = ctx
	}
	return c.more.answer
}
