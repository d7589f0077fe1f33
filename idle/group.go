package idle

import (
	"errors"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// With a timeout for each watch, every active connection would need a new one in
// each idle period. So up to 64 watches form a group that shares one timeout, due
// at the earliest deadline that a member had when the group was last scanned.
// When it is due, a scan ends the members whose true deadline has come and arms
// the timeout for the earliest deadline of the others. Activity only moves
// deadlines away, so no member is scanned after its deadline: sharing costs no
// precision.
//
//	G1. Everything in a group and in a shard is guarded by shard.mu. It is held
//	    during a scan, and never while the user's code runs or something is closed.
//	G2. A group with a member whose deadline can come has an alarm that is pending
//	    or about to run, due no later than the earliest deadline of its members.
//	    group.due is the time of that alarm.
//	G3. A scan that comes too early or once too often does no harm. So an alarm
//	    that has expired while its group was changed need not be stopped: its scan
//	    finds what there is, and arms anew.
//	G4. The goroutine that ended a member removes it from the group, under mu. A
//	    scan skips members that have ended and are still there.

// groupLen is how many watches share a timeout. Larger groups mean fewer timeouts,
// and longer and more frequent scans. See BenchmarkWatches.
const groupLen = 64

// alarm wakes a group: a timeout of the reaper's timer, or a fallbackTimer.
type alarm interface {
	IsExpired() bool
	IsCancelled() bool
	Cancel() bool
	Reset(delay time.Duration) bool
}

// group is some watches and their timeout. Guarded by shard.mu.
type group struct {
	shard   *shard    // Immutable after it was made.
	alarm   alarm     // nil if no member's deadline can come
	due     int64     // of the alarm
	set     *groupSet // that it is in, nil if none
	index   int       // in the set
	n       int       // members
	members [groupLen]*Watch
}

// expired is a watch that the reaper has ended, and when.
type expired struct {
	watch *Watch
	at    int64
}

// Run implements hwt.TimerTask.
func (g *group) Run(hwt.Timeout) error {
	g.scan()
	return nil
}

// scan ends the members whose deadline has come, hands them to the close pool,
// and arms the alarm for the others.
func (g *group) scan() {
	s := g.shard
	s.mu.Lock()
	now := s.now()
	g.disarm() // there may be another alarm by now (G3)
	ended := g.endExpired(now)
	err := g.arm(now)
	s.place(g)
	s.reaper.closePool.add(ended) // under mu: see Reaper.Stats
	s.mu.Unlock()
	s.reaper.refused(err)
}

// endExpired ends and removes the members whose deadline has come, and sets due
// for the others.
func (g *group) endExpired(now int64) (ended []expired) {
	g.due = never
	g.prefetch()
	for i := 0; i < g.n; {
		w := g.members[i]
		last := w.state.word.Load()
		if last < 0 { // its Release waits for mu (G4)
			i++
			continue
		}
		at, reason := w.deadline(last)
		if at <= now && w.held() { // after the load of last (S5)
			at, reason = w.deadline(now)
		}
		switch {
		case at > now:
			g.due = min(g.due, at)
			i++
		case w.state.end(last, reason):
			g.remove(w)
			g.shard.counts.add(reason)
			ended = append(ended, expired{w, now})
		} // else it was touched meanwhile: look again
	}
	return ended
}

// prefetch loads all members' words in a loop so short that the processor fetches
// many of them at the same time.
func (g *group) prefetch() (sum int64) {
	for _, w := range g.members[:g.n] {
		sum += w.state.word.Load()
	}
	return sum
}

// arm sets the alarm to due. If the timer takes no timeouts any more, arm ends
// all members.
func (g *group) arm(now int64) error {
	g.alarm = nil
	if g.n == 0 || g.due == never {
		return nil
	}
	delay := time.Duration(g.due - now)
	timeout, err := g.shard.reaper.timer.NewTimeout(g, delay)
	switch {
	case err == nil:
		g.alarm = timeout
	case errors.Is(err, hwt.ErrTooManyPending):
		g.alarm = newFallbackTimer(delay, g.scan)
		g.shard.counts.fallbackTimers++
	default:
		g.endAll(endReleased)
	}
	return err
}

// armBy makes the alarm come no later than the deadline of w, a member. If the
// alarm has expired, its scan is about to come, unless an executor dropped it:
// so armBy arms anew.
func (g *group) armBy(w *Watch, now int64) error {
	at, _ := w.deadline(w.state.last())
	switch {
	case g.alarm == nil || g.alarm.IsExpired() || g.alarm.IsCancelled():
		g.due = at
		if g.n > 1 {
			g.due = min(at, now) // a scan finds the deadlines of the others
		}
		return g.arm(now)
	case at < g.due:
		g.due = at
		if !g.alarm.Reset(time.Duration(at - now)) {
			return g.arm(now)
		}
	}
	return nil
}

// disarm cancels the alarm.
func (g *group) disarm() {
	if g.alarm != nil {
		g.alarm.Cancel()
		g.alarm = nil
	}
}

// add makes w a member.
func (g *group) add(w *Watch, now int64) error {
	w.group, w.slot = g, uint8(g.n)
	g.members[g.n] = w
	g.n++
	return g.armBy(w, now)
}

// remove removes w, a member.
func (g *group) remove(w *Watch) {
	g.n--
	moved := g.members[g.n]
	g.members[w.slot], g.members[g.n] = moved, nil
	moved.slot = w.slot
	w.group = nil
}

// endAll ends and removes all members, and returns those that had not ended.
func (g *group) endAll(reason endReason) (ended []expired) {
	now := g.shard.now()
	for g.n > 0 {
		w := g.members[g.n-1]
		if w.state.endAny(reason) {
			g.shard.counts.dropped++
			ended = append(ended, expired{w, now})
		} else {
			g.shard.counts.released++ // its Release will find that it has left the group
		}
		g.remove(w)
	}
	return ended
}
