package engine

import (
	"sync/atomic"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/prefetch"
)

// maxKept bounds the room that told and due keep from one tick to the next.
const maxKept = 1 << 14

// beginFiring hands told and due over to fire. Guarded by mu.
func (c *Core) beginFiring() {
	if len(c.told)+len(c.due) == 0 {
		return
	}
	c.firing = true
	c.position.Store(0)
	c.beginWatch()
}

// fire runs the users' code of this tick, if there is any. A task that ends the
// goroutine is not run again: the next worker calls fire anew and goes on
// behind it.
func (c *Core) fire() {
	if !c.firing {
		return
	}
	for i := int(c.position.Load()); i < len(c.told)+len(c.due); i++ {
		c.position.Store(int64(i + 1))
		if i < len(c.told) {
			c.runner.Cancelled(c.told[i], c.told[i].task)
		} else {
			c.prefetchTask(i - len(c.told) + prefetchAhead)
			c.run(c.due[i-len(c.told)])
		}
	}
	c.endFiring()
}

// prefetchAhead is how many timeouts ahead memory is asked for: enough for it to
// arrive while these are looked at. What a timeout and its task need was written when
// they were scheduled, long ago, and waiting for it was a large part of what an expiry cost.
const prefetchAhead = 8

// prefetchTimeout asks for the memory of the timeout at i of due: what expire
// looks at, and the line behind it, in which there may be what run does.
func (c *Core) prefetchTimeout(i int) {
	if i < len(c.due) {
		prefetch.Lines(unsafe.Pointer(c.due[i]))
	}
}

// prefetchTask asks for the memory of the task at i of due.
func (c *Core) prefetchTask(i int) {
	if i < len(c.due) {
		prefetch.Lines(dataOf(c.due[i].task))
	}
}

// dataOf returns the second word of an interface value: where its data is.
func dataOf(task hwt.TimerTask) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&task))[1]
}

// run ends the life of t and runs its task, unless Cancel, Reset or Stop came
// first.
func (c *Core) run(t *Timeout) {
	w, ok := expire(&t.life, c.tick*c.tickDur)
	if ok {
		c.totals.expired.Add(1)
		c.release(1)
		c.runner.Run(t, t.task)
		return
	}
	if !ended(w) {
		c.spared = true // reset since it came due
	}
}

// endFiring lets go of what was fired. What was reset since it came due goes
// back to the wheel in the same step, so that at no moment it is neither in due
// nor in the wheel, where Stop looks for it.
func (c *Core) endFiring() {
	c.mu.Lock()
	c.firing = false
	slow := c.endWatch()
	c.told = emptied(c.told)
	switch {
	case c.wheel == nil: // Stop went through due already
		c.due = nil
	case c.phase.Load() != stopped:
		c.refile()
		c.due = emptied(c.due)
	} // else Stop is about to go through due
	c.mu.Unlock()
	slow.report(c)
}

// refile adds to the wheel what is left pending in due. The current tick is
// over, so that the next one is the earliest.
func (c *Core) refile() {
	if !c.spared {
		return
	}
	c.spared = false
	for _, t := range c.due {
		if w := atomic.LoadInt64(&t.life); !ended(w) {
			c.wheel.Add(t, max(c.tickOf(deadlineOf(w)), c.tick+1))
		}
	}
	c.nextDue = c.wheel.Next()
}

func emptied(list []*Timeout) []*Timeout {
	if cap(list) > maxKept {
		return nil
	}
	clear(list)
	return list[:0]
}
