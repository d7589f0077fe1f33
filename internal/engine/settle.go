package engine

import (
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/mpsc"
)

// Move is what becomes of a timeout that has just left a queue: it leaves the
// wheel, if it is there, and is added to it for Tick.
type Move struct {
	Timeout *Timeout
	Tick    int64 // nowhere if it has ended
}

// nowhere is the tick of a timeout that is not added again.
const nowhere = -1

// batchLen is how many timeouts are settled together: enough for the memory of
// one to arrive while others are looked at. That made resets of each of a million
// a third cheaper.
const batchLen = 16

// settleSome takes at most n timeouts out of q, and a batch at most, and does what
// their words say. It returns how many wait in the wheel now, and false if there
// was none to take.
func (c *Core) settleSome(q *mpsc.Queue[Timeout], n int) (waiting int, more bool) {
	batch := c.batch[:0]
	for len(batch) < min(n, batchLen) {
		t := c.pop(q)
		if t == nil {
			break
		}
		w := dequeue(&t.life)
		batch = append(batch, c.moveOf(t, w))
	}
	c.wheel.Prefetch(batch)
	for _, m := range batch {
		if c.settle(m) {
			waiting++
		}
	}
	clear(batch)
	return waiting, len(batch) > 0
}

// popAtLeast is how many timeouts the worker takes from the intake in one tick
// even if it trails.
const popAtLeast = 4096

// pop takes a timeout out of q, as long as there is one and the next tick has
// not come: callers that push as fast as the worker pops, or a worker that gets
// little of the processor, must not keep what is due from being fired.
func (c *Core) pop(q *mpsc.Queue[Timeout]) *Timeout {
	if c.popped++; c.popped%1024 == 0 && c.popped > popAtLeast && c.now()/c.tickDur > c.tick {
		c.overtime = true
	}
	if c.overtime {
		return nil
	}
	return q.Pop()
}

func (c *Core) moveOf(t *Timeout, w life) Move {
	if ended(w) {
		return Move{t, nowhere}
	}
	return Move{t, max(c.tickOf(deadlineOf(w)), c.tick)}
}

// settle makes the move: the timeout waits in the wheel for its deadline, or it is
// forgotten. It returns whether it waits.
func (c *Core) settle(m Move) bool {
	t := m.Timeout
	if t.place != (place{}) {
		c.wheel.Remove(t)
	}
	if m.Tick != nowhere {
		c.wheel.Add(t, m.Tick)
		return true
	}
	if wasCancelled(atomic.LoadInt64(&t.life)) && task.WantsCancelled(t.task) {
		c.told = append(c.told, t)
	}
	return false
}
