package clock

import "context"

// context.Cause asks a context for the nearest one of package context's own, by
// a key that nobody else has, and takes the cause from there. A context that did
// not answer would leave the question to its parents, who may have ended later
// and for another cause. So this package learns the key, by asking for the cause
// of a context that remembers what it is asked, and answers with a context that
// was cancelled with the right cause.
//
// If a later Go asks in another way, causeKey is nil, and Cause is right but for
// causes given to WithTimeoutCause and those of parents that end later; the tests
// would tell.

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

// selfKey is the key under which a deadlineCtx is found.
var selfKey any = new(int)

// answer returns the context that has the cause, or nil if that is Err.
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
