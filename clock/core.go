package clock

import (
	"context"
	"time"
)

var (
	closed = make(chan struct{}) // the Done of contexts that nobody waited for in time
	never  = make(chan struct{}) // the Done of bridges, which nobody waits for
)

func init() { close(closed) }

// waited gives the context its core, and a link to its parent if that can end.
func (c *deadlineCtx) waited() <-chan struct{} {
	done, first := c.makeCore()
	if first && c.parent.Done() != nil {
		c.link()
	}
	return done
}

// makeCore returns the Done channel, and whether the core is new.
func (c *deadlineCtx) makeCore() (done <-chan struct{}, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if core, ok := c.core.Load().(context.Context); ok {
		return core.Done(), false
	}
	if c.state.Load() != live {
		return closed, false
	}
	core, cancel := context.WithCancel((*bridge)(c))
	_ = cancel // would say Canceled, whatever the end was; see bridge
	c.core.Store(core)
	return core.Done(), true
}

// link makes the parent cancel this context at its end.
func (c *deadlineCtx) link() {
	unlink := context.AfterFunc(c.parent, c.cancel)
	c.mu.Lock()
	ended := c.state.Load() != live
	if !ended {
		c.rest.unlink = unlink
	}
	c.mu.Unlock()
	if ended {
		unlink()
	}
}

// bridge is a deadlineCtx as the parent of its own core. Package context lets no
// one else say with which error a context of its own ends, but it does take that
// of a parent of another kind, and at once if the parent has an AfterFunc.
type bridge deadlineCtx

var _ context.Context = (*bridge)(nil)

// AfterFunc is called once, when the core is made, and so under mu.
func (b *bridge) AfterFunc(f func()) (stop func() bool) {
	b.rest.cancelCore = f
	return cannotStop
}

func cannotStop() bool { return false }

// Done is asked only when the core is made: it must not be nil, and not closed.
func (b *bridge) Done() <-chan struct{} { return never }

// Err is asked when the core ends, and does not wait for that.
func (b *bridge) Err() error { return (*deadlineCtx)(b).err() }

// Value answers for the cause: nothing when the core is made, under mu, and what
// the core is to tell when it ends.
func (b *bridge) Value(key any) any {
	c := (*deadlineCtx)(b)
	if key != causeKey {
		return c.parent.Value(key)
	}
	if c.state.Load() == live {
		return nil
	}
	return c.answer()
}

func (b *bridge) Deadline() (deadline time.Time, ok bool) { return b.deadline, true }
