package engine

import (
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// move is a timeout that has left a queue, and the tick at which it goes to the
// wheel. It leaves its present place in the wheel first, if it has one.
type move struct {
	timeout *Timeout
	tick    int64 // nowhere if it has ended
}

// nowhere is the tick of a timeout that is not added again.
const nowhere = -1

// batchLen is the number of timeouts that are drained together, so that the memory of
// one arrives while others are handled.
const batchLen = 32

func (c *Core) moveOf(t *Timeout, w enginekit.Word) move {
	if w.HasEnded() {
		return move{t, nowhere}
	}
	return move{t, max(c.tickOf(w.Deadline()), c.schedule.earliest)}
}

// storeBatch makes the moves. It returns how many of them go to the wheel.
func (c *Core) storeBatch(batch []move) (waiting int) {
	c.prefetch(batch)
	for _, m := range batch {
		c.store(m)
		if m.tick != nowhere {
			waiting++
		}
	}
	clear(batch)
	return waiting
}

// prefetch asks for the memory that the moves need: the chunks that are left, then the
// first ones of their buckets, from which the holes are filled, the timeouts that fill
// them, and the first chunks of the buckets that are added to.
func (c *Core) prefetch(batch []move) {
	held := c.schedule.wheel.Held()
	for _, m := range batch {
		held.PrefetchPlace(&m.timeout.node)
		if m.tick == nowhere {
			continue
		}
		if i, ok := c.schedule.wheel.Bucket(m.tick); ok {
			held.PrefetchBucket(i)
		}
	}
	for _, m := range batch {
		held.PrefetchFirst(&m.timeout.node)
	}
	for _, m := range batch {
		held.PrefetchFiller(&m.timeout.node)
	}
}

// store makes the move: the timeout waits in the wheel for its deadline, or it is
// dropped. One in due stays there until firing ends (W5).
func (c *Core) store(m move) {
	t := m.timeout
	if t.node.Stored() {
		c.schedule.wheel.Remove(&t.node)
	}
	switch {
	case m.tick == nowhere:
		c.drop(t)
	case !t.node.IsAt(inDue):
		c.schedule.wheel.Add(&t.node, m.tick)
	}
}

// drop forgets a timeout that has ended, after its task got notice if it is to get
// one.
func (c *Core) drop(t *Timeout) {
	switch {
	case !t.state.load().IsCancelled():
	case enginekit.WantsCancelled(t.task):
		c.schedule.nextNotices = append(c.schedule.nextNotices, t)
	default:
		c.dropped(1)
	}
}
