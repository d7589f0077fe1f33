package clock

import (
	"context"
	"time"
)

var (
	closed = make(chan struct{}) // The Done channel of a context that ended without a core.
	never  = make(chan struct{}) // The Done channel of bridges. It is never closed.
)

func init() { close(closed) }

// ensureCore returns the Done channel. ensureCore creates a missing core, and a missing
// link if the parent can end.
func (c *deadlineCtx) ensureCore() <-chan struct{} {
	done, made := c.makeCore()
	if made && c.parent.Done() != nil {
		c.link()
	}
	return done
}

// makeCore returns the Done channel and reports whether it created the core.
func (c *deadlineCtx) makeCore() (done <-chan struct{}, made bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if core, ok := c.core.Load().(context.Context); ok {
		return core.Done(), false
	}
	if c.state.Load() != live {
		return closed, false
	}
	core, cancel := context.WithCancel((*bridge)(c))
	_ = cancel // cancel would end the core with Canceled. The bridge ends the core with the right error.
	c.core.Store(core)
	return core.Done(), true
}

// link makes the end of the parent cancel this context.
func (c *deadlineCtx) link() {
	unlink := context.AfterFunc(c.parent, c.cancel)
	c.mu.Lock()
	ended := c.state.Load() != live
	if !ended {
		c.cleanup.unlink = unlink
	}
	c.mu.Unlock()
	if ended {
		unlink()
	}
}

// bridge is a deadlineCtx as the parent of the core. Package context ends the core with the
// error of a parent of another kind, without a goroutine if the parent has a method
// AfterFunc.
type bridge deadlineCtx

var _ context.Context = (*bridge)(nil)

// AfterFunc is called once, when the core is made, under mu.
func (b *bridge) AfterFunc(f func()) (stop func() bool) {
	b.cleanup.cancelCore = f
	return cannotStop
}

func cannotStop() bool { return false }

// Done is called only when the core is made. It must be neither nil nor closed.
func (b *bridge) Done() <-chan struct{} { return never }

// Err is called when the core ends, and must not wait for that.
func (b *bridge) Err() error { return (*deadlineCtx)(b).err() }

// Value returns the context from which package context takes the cause: nil when the
// core is made, under mu, and the answer when it ends.
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

// Deadline returns the deadline of the context.
func (b *bridge) Deadline() (deadline time.Time, ok bool) { return b.deadline, true }
