package engine

import (
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// maxSpareCap bounds the room that notices and due keep from one tick to the next.
const maxSpareCap = 1 << 14

// collect moves the timeouts of this tick from the wheel to due. Timeouts with a later
// deadline, because of a Reset or because the wheel stored them early, go back to the
// wheel.
func (c *Core) collect() {
	c.firing.due = c.schedule.wheel.Expire(c.firing.due)
	now := c.tickTime()
	kept := c.firing.due[:0]
	for i, n := range c.firing.due {
		c.prefetchTimeout(i + prefetchAhead)
		n.MoveTo(elsewhere)
		t := timeoutOf(n)
		switch w := t.state.load(); {
		case w.HasEnded(): // cancelled, and in a queue to be drained
		case w.Deadline() > now:
			c.store(c.moveOf(t, w))
		default:
			n.MoveTo(inDue)
			c.schedule.walks.Moved(n)
			kept = append(kept, n)
		}
	}
	clear(c.firing.due[len(kept):])
	c.firing.due = kept
}

// tickTime returns the time by which deadlines expire at this tick. The clock may reach
// forever, but a deadline that is forever never expires.
func (c *Core) tickTime() int64 { return min(c.schedule.tick*c.timer.tickDur, forever-1) }

// beginFiring hands the notices and due over to fire. Guarded by mu.
func (c *Core) beginFiring() {
	c.firing.notices, c.schedule.nextNotices = c.schedule.nextNotices, c.firing.notices
	if len(c.firing.notices)+len(c.firing.due) == 0 {
		return
	}
	c.firing.running = true
	c.schedule.draining.fired, c.schedule.draining.stale = true, true
	c.firing.position.Store(0)
	c.watchdog.begin()
}

// fire runs the users' code of this tick, if there is any. A task that ends the
// goroutine does not run again: the next worker calls fire anew and continues behind
// it.
func (c *Core) fire() {
	if !c.firing.running {
		return
	}
	for i := int(c.firing.position.Load()); i < len(c.firing.notices)+len(c.firing.due); i++ {
		c.beginTask(i)
		c.firing.position.Store(int64(i + 1))
		if i < len(c.firing.notices) {
			c.totals.noticed.Add(1)
			c.dropped(1) // first, since the notice may end the goroutine
			c.timer.runner.Cancelled(c.firing.notices[i], c.firing.notices[i].task)
		} else {
			c.prefetchTask(i - len(c.firing.notices) + prefetchAhead)
			c.expireAndRun(timeoutOf(c.firing.due[i-len(c.firing.notices)]))
		}
	}
	c.endTiming()
	c.endFiring()
}

// prefetchAhead is the distance in timeouts at which memory is prefetched, so that it
// arrives in time. A timeout and its task were written when they were scheduled, long
// ago, and waiting for their memory was a large part of the cost of an expiry.
const prefetchAhead = 8

// prefetchTimeout loads the timeout at i of due for collect, and the line behind it,
// which may hold the rest of it.
func (c *Core) prefetchTimeout(i int) {
	if i < len(c.firing.due) {
		cacheline.PrefetchPair(unsafe.Pointer(c.firing.due[i]))
	}
}

// prefetchTask asks for the memory of the task at i of due.
func (c *Core) prefetchTask(i int) {
	if i < len(c.firing.due) {
		cacheline.PrefetchPair(dataOf(timeoutOf(c.firing.due[i]).task))
	}
}

// dataOf returns the second word of an interface value: where its data is.
func dataOf(task hwt.TimerTask) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&task))[1]
}

// expireAndRun expires t and runs its task, unless Cancel, Reset or Stop came first.
func (c *Core) expireAndRun(t *Timeout) {
	w, ok := t.state.expire(c.tickTime())
	if ok {
		c.totals.expired.Add(1)
		c.timing.noteLate(w.Deadline())
		c.timer.limit.Give(1)
		c.timer.runner.Run(t, t.task)
		return
	}
	if !w.HasEnded() {
		c.firing.hasReset = true // reset since it was collected
	}
}

// endFiring releases the lists. Timeouts that were reset since they were collected go
// back to the wheel in the same step, so that Stop always finds them in due or in the
// wheel.
func (c *Core) endFiring() {
	c.mu.Lock()
	c.firing.running = false
	c.watchdog.end()
	c.firing.notices = emptied(c.firing.notices)
	switch {
	case c.schedule.wheel == nil: // Stop went through due already
		c.firing.due = nil
	case c.signal.phase.Load() != stopped:
		c.reinsert()
		c.firing.due = emptied(c.firing.due)
	} // otherwise Stop will pass through due
	c.mu.Unlock()
}

// reinsert stores the timeouts of due that are still pending. The current tick is over,
// so the next one is the earliest.
func (c *Core) reinsert() {
	if !c.firing.hasReset {
		return
	}
	c.firing.hasReset = false
	for _, n := range c.firing.due {
		t := timeoutOf(n)
		if w := t.state.load(); !w.HasEnded() {
			n.MoveTo(elsewhere)
			c.schedule.wheel.Add(n, c.moveOf(t, w).tick)
		}
	}
}

func emptied[T any](list []*T) []*T {
	if cap(list) > maxSpareCap {
		return nil
	}
	clear(list)
	return list[:0]
}
