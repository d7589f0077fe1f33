package engine

import (
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// maxSpareCap bounds the room that notices and due keep from one tick to the next.
const maxSpareCap = 1 << 14

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
			c.timer.released(1) // first, since the notice may end the goroutine
			c.timer.runner.Cancelled(c.firing.notices[i], c.firing.notices[i].task)
		} else {
			c.prefetchTask(i - len(c.firing.notices) + prefetchAhead)
			c.expireAndRun(timeoutOf(c.firing.due[i-len(c.firing.notices)]))
		}
	}
	c.endTiming()
	c.endFiring()
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
	w, ok := t.state.expire(c.schedule.time())
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
		if c.firing.hasReset {
			c.firing.hasReset = false
			c.schedule.putBack(c.firing.due)
		}
		c.firing.due = emptied(c.firing.due)
	} // otherwise Stop will pass through due
	c.mu.Unlock()
}

func emptied[T any](list []*T) []*T {
	if cap(list) > maxSpareCap {
		return nil
	}
	clear(list)
	return list[:0]
}
