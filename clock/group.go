package clock

import (
	"runtime"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// With a timeout per ticker, each tick would pass through the intake and the wheel of the timer.
// Tickers with equal periods keep their order: one that ticks is due again after all others. A
// queue without sorting and one timeout serve all of them, and a tick costs some writes.
//
// A tickerGroup is the tickers of one period. A ticker that ticks is due again one period
// later, after all the others. A group is a queue in the order of due times, and one timeout,
// for its front, serves all. The queue is two rings:
//
//	ring    the tickers that were due or had joined by the latest firing: due no
//	        later than one period after it
//	late    the tickers that joined since: due after that, in the order of joining
//
//	G1. ring and late are in order, and ring followed by late is the queue. During a
//	    firing ring is rotated: it begins with the next ticker to tick and ends with
//	    those that have ticked.
//	G2. A firing reads the clock once, and ticks the tickers that are due by then.
//	    Afterwards they are not due. Therefore a firing ends, however short the period
//	    is, and the due time of the head shows when ring has gone round.
//	G3. A tick moves no ticker. Because ring is circular, advancing its head puts the
//	    ticker at the back. That is its place, because the others in ring are due
//	    within one period of the firing before, and it was due after that firing. It
//	    may not be its place if it missed ticks, or if a ticker of late is due as
//	    well. Then all of ring has ticked, and the end of the firing sorts it.
//	G4. The end of a firing merges the tickers of late that joined by its reading of the clock
//	    with those that ticked, at the back of ring. A ticker that joined after the reading
//	    stays in late, because it may be due after a ticker that ticks in the next firing.
//	G5. mu is held for one batch of ticks and then released, so that Stop and Reset do
//	    not wait for a whole group. The end of a firing holds it for a constant time,
//	    except for the merge, if tickers joined, and the sort.
//	G6. While there are tickers, a firing is under way or a timeout exists that
//	    expires no later than the front is due. It may expire earlier, because a
//	    ticker that leaves does not move it. The task of every timeout of the group
//	    begins a firing unless one is under way, so that no task can be lost or confused. If
//	    a timeout ended and no firing came of it, because its timer was stopped or
//	    lost the task, the next ticker that joins arms another.
//	G7. A group without tickers is not used again, and is out of the map before mu
//	    is released.

// batch is the number of tickers that tick under one lock.
const batch = 128

// tickerGroup is the tickers of one period.
type tickerGroup struct {
	clock  *Clock        // Immutable.
	period time.Duration // Immutable.

	mu       sync.Mutex
	ring     ring        // G1. Guarded by mu.
	late     ring        // G1. Guarded by mu.
	firing   bool        // A firing is under way. Guarded by mu.
	disorder bool        // G3: the tickers that ticked are not in order. Guarded by mu.
	closed   bool        // G7. Guarded by mu.
	timeout  hwt.Timeout // G6. Guarded by mu.
}

// join adds t to the group of its period, and returns the group.
func (c *Clock) join(t *Ticker, period time.Duration) *tickerGroup {
	for { // Ends: a group was closed in each turn, so another call has made progress.
		v, ok := c.groups.Load(period)
		if !ok {
			v, _ = c.groups.LoadOrStore(period, &tickerGroup{clock: c, period: period})
		}
		if g := v.(*tickerGroup); g.add(t) {
			return g
		}
	}
}

// add adds t, and returns false if the group is closed.
func (g *tickerGroup) add(t *Ticker) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	t.due = g.clock.in(g.period)
	g.late.push(t)
	if !g.firing && (g.timeout == nil || ended(g.timeout)) {
		g.arm()
	}
	return true
}

// remove removes t, and closes the group if it was the last.
func (g *tickerGroup) remove(t *Ticker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ring.dropHead(t)
	g.late.dropHead(t)
	t.unlink()
	t.drain()
	if g.ring.head == nil && g.late.head == nil {
		g.closed = true
		g.timeout.Cancel()
		g.clock.groups.CompareAndDelete(g.period, g)
	}
}

// arm makes the timeout expire when the front is due. Guarded by mu.
func (g *tickerGroup) arm() {
	front := g.ring.head
	if front == nil {
		front = g.late.head
	}
	d := front.due - g.clock.now()
	if g.timeout == nil || !g.timeout.Reset(d) {
		// By the period: with many tickers, the front is always due soon.
		g.timeout = g.clock.armAs((*groupTask)(g), d, g.period)
	}
}

// groupTask is a tickerGroup as the task of its timeouts.
type groupTask tickerGroup

// Run implements [hwt.TimerTask].
func (x *groupTask) Run(hwt.Timeout) error {
	g := (*tickerGroup)(x)
	if !g.begin() {
		return nil
	}
	now := time.Now()
	at := now.Sub(g.clock.start)
	if g.clock.suspension != nil {
		at = g.clock.now()
	}
	for g.fire(now, at) {
		runtime.Gosched() // The receivers run while their memory is in the cache.
	}
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *groupTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// begin begins a firing, and returns false if one is under way.
func (g *tickerGroup) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.firing {
		return false
	}
	g.firing = true
	return true
}

// fire ticks one batch of the tickers that are due, and reports whether there may
// be more.
func (g *tickerGroup) fire(now time.Time, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	for range batch {
		t := g.advance(at)
		if t == nil {
			g.end(at)
			return false
		}
		t.prefetch()
		t.tick(now, at, g.period)
		g.disorder = g.disorder || t.prev.due > t.due
	}
	return true
}

// advance returns the next ticker that is due, now at the back of ring (G3). It returns
// nil after the last. Guarded by mu.
func (g *tickerGroup) advance(at time.Duration) *Ticker {
	if t := g.ring.head; t != nil && t.due <= at {
		g.ring.head = t.next
		return t
	}
	if t := g.late.head; t != nil && t.due <= at {
		g.ring.push(g.late.pop())
		return t
	}
	return nil
}

// end ends a firing. Guarded by mu.
func (g *tickerGroup) end(at time.Duration) {
	if g.disorder {
		g.ring.sort()
		g.disorder = false
	}
	if joined := g.late.takeUntil(due(at, g.period)); joined.head != nil {
		after := g.ring.takeAfter(joined.head.due)
		g.ring.splice(after.merge(joined))
	}
	g.firing = false
	g.arm()
}
