package engine

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
)

// stop implements Stop: it refuses what comes from now on, takes the wheel over
// from the worker, ends what is pending, and sees the worker off.
func (c *Core) stop() []hwt.Timeout {
	var unprocessed []hwt.Timeout
	if was, first := c.shut(); first {
		unprocessed = c.takeAll()
		close(c.taken)
		if was == unstarted {
			go c.work() // only to tell what Stop left to tell, and to close done
		}
	}
	<-c.taken // another Stop may be at it; it waits for no users' code
	c.awaitEnd()
	return unprocessed
}

// shut closes the intake and lets the worker end. It returns the phase before,
// and true the first time.
func (c *Core) shut() (was phase, first bool) {
	if was = c.phase.Swap(stopped); was == stopped {
		return was, false
	}
	live.Add(-1)
	c.intake.close()
	close(c.quit)
	return was, true
}

// swept is the place of the timeouts that Stop ended.
var swept = place{chunk: math.MaxUint32}

// takeAll ends every pending timeout. The worker may be in the middle of users'
// code meanwhile; it will find no wheel, and nothing left in due.
func (c *Core) takeAll() (unprocessed []hwt.Timeout) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unprocessed = make([]hwt.Timeout, 0, c.pending())
	end := func(t *Timeout) bool {
		if _, ok := cancel(&t.life); ok {
			t.place = swept
			unprocessed = append(unprocessed, t)
		}
		return true
	}
	for i := range c.intake.stripes {
		s := &c.intake.stripes[i]
		for _, q := range []interface{ Pop() *Timeout }{&s.added, &s.changed} {
			for t := q.Pop(); t != nil; t = q.Pop() {
				if end(t); t.place != swept && wasCancelled(atomic.LoadInt64(&t.life)) && task.WantsCancelled(t.task) {
					c.last = append(c.last, t) // its Cancel left it to the worker
				}
			}
		}
	}
	c.wheel.All(end)
	c.wheel = nil
	for _, t := range c.due {
		end(t)
	}
	if !c.firing {
		c.due = nil
	}
	c.totals.unprocessed.Add(int64(len(unprocessed)))
	c.release(int64(len(unprocessed)))
	return unprocessed
}

// takeLast gives fire the cancellations that were left to tell when Stop came.
// It returns false if there are none; then none may be left to the worker any
// more.
func (c *Core) takeLast() bool {
	<-c.taken // Stop waits for nothing until then
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told, c.last = c.last, nil
	c.beginFiring()
	c.gone = !c.firing
	return c.firing
}

// tellLast sees to it that the task of t, which Cancel ended after the intake
// was closed, is told: by the worker as long as it is there, and never by the
// caller of Cancel, who may hold locks that the task wants.
func (c *Core) tellLast(t *Timeout) {
	if !task.WantsCancelled(t.task) {
		return
	}
	c.mu.Lock()
	gone := c.gone
	if !gone {
		c.last = append(c.last, t)
	}
	c.mu.Unlock()
	if gone {
		go c.runner.Cancelled(t, t.task)
	}
}

// unqueue takes back the queued bit of t, whose push came after the intake was
// closed, and makes good for a Cancel that relied on that push.
func (c *Core) unqueue(t *Timeout) {
	c.mu.Lock()
	missed := wasCancelled(dequeue(&t.life)) && t.place != swept
	c.mu.Unlock()
	if missed {
		c.tellLast(t)
	}
}

// awaitEnd waits until the worker has ended: not if this is the worker itself,
// and for a limited time only, since it may be in users' code that never
// returns, or that waits for this very call.
func (c *Core) awaitEnd() {
	if id, _ := goroutine(); id == c.workerID.Load() || c.wait <= 0 {
		return
	}
	patience := time.NewTimer(c.wait)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
		c.runner.Warn("hwt: Stop gave up waiting for a task that occupies the timer's worker", "waited", c.wait)
	}
}
