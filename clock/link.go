package clock

import "context"

// callback is something to call when a context ends, in a list.
type callback struct {
	f          func()
	ctx        *deadlineCtx // Immutable.
	next, prev *callback    // Guarded by ctx.mu, until the list is taken to be called.
}

// AfterFunc registers f, to be called when the context ends; package context
// looks for this method when it makes a child, and so needs no goroutine for it.
// f runs on the goroutine that cancels, or on one of its own.
func (c *deadlineCtx) AfterFunc(f func()) (stop func() bool) {
	b := &callback{f: f, ctx: c}
	if !c.register(b) {
		go f() // not here: package context holds the child's lock
	}
	return b.remove
}

// register puts b into the list, unless the context has ended. Who registers
// waits for the end, so it links.
func (c *deadlineCtx) register(b *callback) bool {
	c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != live {
		return false
	}
	b.next = c.rest.callbacks
	if b.next != nil {
		b.next.prev = b
	}
	c.rest.callbacks = b
	return true
}

// remove takes b out of the list, and returns false if it is not there any more.
func (b *callback) remove() bool {
	c := b.ctx
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != live || b.f == nil {
		return false // called, or about to be; or removed before
	}
	b.f = nil
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		c.rest.callbacks = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
	return true
}

// link makes the parent cancel this context at its end.
func (c *deadlineCtx) link() {
	if c.parent.Done() == nil || c.state.Load() != live {
		return
	}
	unlink := c.follow()
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

// follow registers cancel with the parent. If that is another of these contexts,
// whatever values were put round it, it does so directly, and the cancellation
// goes from the one to the other as in package context: at once.
func (c *deadlineCtx) follow() (unlink func() bool) {
	p, ok := c.parent.Value(selfKey).(*deadlineCtx)
	if !ok || p.Done() != c.parent.Done() {
		return context.AfterFunc(c.parent, c.cancel)
	}
	b := &callback{f: c.cancel, ctx: p}
	if !p.register(b) {
		c.cancel()
	}
	return b.remove
}
