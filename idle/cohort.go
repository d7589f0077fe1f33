package idle

import (
	"errors"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// A timeout for each watch would have to be made anew once every idle period
// for each busy connection. So watches share one: a cohort is a few watches and
// one timeout, due at the earliest deadline that any member had when the cohort
// was last looked at. When it comes due, all members are looked at: those whose
// true deadline has come are closed, and the timeout is armed for the earliest
// deadline of the others. Since activity only moves deadlines away, no member is
// ever looked at after its deadline: sharing costs no precision.
//
//	C1. Everything in a cohort and in a shard is guarded by shard.mu. It is held
//	    for the time of one look, never while users' code runs and never while
//	    something is closed.
//	C2. A cohort with a member whose deadline can come has an alarm that is
//	    pending or about to run, due no later than the earliest deadline of the
//	    members. c.due is that alarm's time.
//	C3. A look that comes too early or too often harms nothing. So an alarm that
//	    expired while its cohort was changed needs no recall: it looks, finds
//	    what there is, and arms anew.
//	C4. Whoever ended a member's life takes it out of the cohort, under mu. A look
//	    passes over members that have ended and are still there.

// cohortLen is how many watches share a timeout. More make fewer timeouts, and
// each look longer and more frequent; measured, see BenchmarkWatches.
const cohortLen = 64

// alarm is what wakes a cohort: a timeout of the reaper's timer, or what stands
// in for it.
type alarm interface {
	IsExpired() bool
	IsCancelled() bool
	Cancel() bool
	Reset(delay time.Duration) bool
}

// cohort is some watches and their timeout. Guarded by shard.mu.
type cohort struct {
	shard   *shard // Immutable after it was made.
	alarm   alarm  // nil if no member's deadline can come
	due     int64  // of the alarm
	set     *set   // that it is in, nil if it was dropped
	index   int    // in the set
	n       int    // members
	members [cohortLen]*Watch
}

// Run implements hwt.TimerTask: it looks at the members.
func (c *cohort) Run(hwt.Timeout) error {
	c.look()
	return nil
}

// look closes the members that went quiet and arms for the others.
func (c *cohort) look() {
	s := c.shard
	s.mu.Lock()
	now := s.now()
	if c.alarm != nil {
		c.alarm.Cancel() // there may be two by now (C3)
		c.alarm = nil
	}
	victims := c.sift(now)
	err := c.arm(now)
	s.tidy(c)
	s.reaper.closers.take(victims) // under mu: see Reaper.Stats
	s.mu.Unlock()
	s.reaper.refused(err)
}

// sift takes the members out whose deadline has come, and sets due for the
// others.
func (c *cohort) sift(now int64) (victims []victim) {
	c.due = never
	c.fetch()
	for i := 0; i < c.n; {
		w := c.members[i]
		last := w.life.word.Load()
		if last < 0 { // ended; its Release is waiting for mu (C4)
			i++
			continue
		}
		at, h := w.deadline(last)
		switch {
		case at > now:
			c.due = min(c.due, at)
			i++
		case w.life.end(last, h):
			c.vacate(w)
			c.shard.counts.count(h)
			victims = append(victims, victim{w, now})
		} // else it was touched meanwhile: look again
	}
	return victims
}

// fetch reads all members' words for the processor's cache: in a loop so short
// that it waits for the memory of many at the same time.
func (c *cohort) fetch() (sum int64) {
	for _, w := range c.members[:c.n] {
		sum += w.life.word.Load()
	}
	return sum
}

// arm sets the alarm to due. On an error the timer takes no timeouts any more,
// and the members are let go.
func (c *cohort) arm(now int64) error {
	c.alarm = nil
	if c.n == 0 || c.due == never {
		return nil
	}
	delay := time.Duration(c.due - now)
	timeout, err := c.shard.reaper.timer.NewTimeout(c, delay)
	switch {
	case err == nil:
		c.alarm = timeout
	case errors.Is(err, hwt.ErrTooManyPending):
		c.alarm = newSpare(delay, c.look)
		c.shard.counts.spares++
	default:
		c.dismiss(released)
	}
	return err
}

// add makes w a member.
func (c *cohort) add(w *Watch, now int64) error {
	w.cohort, w.slot = c, uint8(c.n)
	c.members[c.n] = w
	c.n++
	return c.hasten(w, now)
}

// hasten sees to it that the alarm comes no later than the deadline of w. An
// alarm that expired is about to look; but should an executor have dropped it,
// this is where it is found.
func (c *cohort) hasten(w *Watch, now int64) error {
	at, _ := w.deadline(w.life.last())
	switch {
	case c.alarm == nil || c.alarm.IsExpired() || c.alarm.IsCancelled():
		c.due = at
		if c.n > 1 {
			c.due = min(at, now) // the others' deadlines are to be found out
		}
		return c.arm(now)
	case at < c.due:
		c.due = at
		if !c.alarm.Reset(time.Duration(at - now)) {
			return c.arm(now)
		}
	}
	return nil
}

// vacate takes w out.
func (c *cohort) vacate(w *Watch) {
	c.n--
	moved := c.members[c.n]
	c.members[w.slot], c.members[c.n] = moved, nil
	moved.slot = w.slot
	w.cohort = nil
}

// dismiss ends all members' lives and returns those that it ended.
func (c *cohort) dismiss(h how) (victims []victim) {
	now := c.shard.now()
	for c.n > 0 {
		w := c.members[c.n-1]
		if w.life.endAny(h) {
			c.shard.counts.dismissed++
			victims = append(victims, victim{w, now})
		} else {
			c.shard.counts.released++ // its Release finds that it is out already
		}
		c.vacate(w)
	}
	return victims
}

// disarm cancels the alarm.
func (c *cohort) disarm() {
	if c.alarm != nil {
		c.alarm.Cancel()
		c.alarm = nil
	}
}
