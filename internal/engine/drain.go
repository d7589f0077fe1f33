package engine

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/task"
)

// drain takes what came through the intake to the wheel. It takes no more than
// half of the worker's time: as long as it took, within reason (see maxRest), is
// how long the ticks after it go without. So callers that push faster than the
// worker settles cannot keep it from what is due, also where it trails and has
// many ticks to make up for.
func (c *Core) drain(now int64) {
	if now < c.drainFrom {
		c.quiet = false
		return
	}
	c.quiet = true
	c.transfer()
	c.settleChanged()
	end := c.now()
	c.drainFrom = end + min(end-now, c.tickDur+int64(maxRest))
}

// maxRest is how much longer than a tick the intake rests at most. To drain takes
// a tick, and popAtLeast, which takes a millisecond or a few; what seems to have
// taken longer is a process that was stopped, or a machine that slept. What was
// scheduled since must not wait for that long once more.
const maxRest = 10 * time.Millisecond

// transfer moves new timeouts from the intake to the wheel, TransferCap at most.
func (c *Core) transfer() {
	room := TransferCap
	c.popped, c.overtime = 0, false
	n := len(c.intake.stripes)
	for i := range n {
		s := &c.intake.stripes[(i+int(c.totals.ticks.Load()))&(n-1)] // each comes first in its turn
		if s.added.Empty() {
			continue
		}
		c.quiet = false
		s.added.Prune(isVoid)
		for more := true; more && room > 0; {
			var waiting int
			waiting, more = c.settleSome(&s.added, room)
			room -= waiting
		}
	}
	if room == 0 || c.popped > popAtLeast {
		c.countLeftOver()
	}
}

// isVoid reports whether a new timeout ended before its transfer, and nobody
// wants to be told.
func isVoid(t *Timeout) bool {
	return ended(atomic.LoadInt64(&t.life)) && !task.WantsCancelled(t.task)
}

// countLeftOver counts the tick if the cap, or its end, put off some transfers.
func (c *Core) countLeftOver() {
	for i := range c.intake.stripes {
		if !c.intake.stripes[i].added.Empty() {
			c.totals.leftOver.Add(1)
			return
		}
	}
}

// settleChanged acts on the timeouts that were cancelled, or reset to earlier,
// since they were transferred.
func (c *Core) settleChanged() {
	c.popped, c.overtime = 0, false // a share of its own, or new timeouts could starve it
	for i := range c.intake.stripes {
		s := &c.intake.stripes[i]
		for more := true; more; {
			_, more = c.settleSome(&s.changed, batchLen)
			if more {
				c.quiet = false
			}
		}
	}
}
