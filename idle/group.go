package idle

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// With one timeout per watch, every active connection would need a new timeout in each idle
// period. Up to 64 watches form a group that shares one timeout. The timeout is due at the
// earliest deadline that a member had at the last scan. When the timeout expires, a scan ends
// the members past the current deadline and arms the timeout for the earliest deadline of the
// others. Activity only moves deadlines later, so no member is scanned after the deadline.
// Sharing costs no precision.
//
//	G1. shard.mu guards all fields of groups and shards. It is held during a scan,
//	    but not while user code runs or a connection is closed.
//	G2. A group with a member that can expire has an alarm that is pending or about to run. The
//	    alarm is due at group.due, no later than the earliest deadline of the members.
//	G3. An early or redundant scan is harmless. An alarm that expires while its group changes
//	    need not be stopped: its scan examines the current members and arms a new alarm.
//	G4. The goroutine that ends a member removes it from the group, under mu. A
//	    scan skips members that have ended but are not removed yet.

// groupLen is the maximum number of watches that share a timeout. Larger groups
// have fewer timeouts, but longer and more frequent scans. See BenchmarkWatches.
const groupLen = 64

// alarm wakes a group. It is a timeout of the reaper's timer or a fallbackTimer.
type alarm interface {
	IsExpired() bool
	IsCancelled() bool
	Cancel() bool
	Reset(delay time.Duration) bool
}

// group is a set of watches that share a timeout. Guarded by shard.mu.
type group struct {
	shard   *shard    // Immutable after openGroup.
	alarm   alarm     // nil if no member can expire
	due     int64     // deadline of the alarm
	set     *groupSet // set that contains the group; may be nil
	index   int       // position in set
	n       int       // number of members
	members [groupLen]*Watch
}

// expired is a watch that the reaper has ended, and the time of the end.
type expired struct {
	watch *Watch
	at    int64
}

// Run implements [hwt.TimerTask].
func (g *group) Run(hwt.Timeout) error {
	g.scan()
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine scans, and err is reported.
func (g *group) Rejected(_ hwt.Timeout, err error) error {
	go g.scan()
	return err
}

// scan ends the members past the deadline, passes them to the close pool, and arms the alarm
// for the others.
func (g *group) scan() { g.shard.reaper.refused(g.scanLocked()) }

// scanLocked is scan under the lock. It returns the error of the timer.
func (g *group) scanLocked() error {
	s := g.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	g.disarm() // there may be a newer alarm (G3)
	ended := g.endExpired(now)
	err := g.arm(now)
	s.place(g)
	s.reaper.closePool.add(ended) // under mu: see Reaper.Stats
	return err
}

// endExpired ends and removes the members that are past their deadline, and sets due for the
// others.
func (g *group) endExpired(now int64) (ended []expired) {
	g.due = never
	g.prefetch()
	for i := 0; i < g.n; {
		w := g.members[i]
		last := w.state.word.Load()
		if last < 0 { // its Stop waits for mu (G4)
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
			ended = append(ended, expired{w, max(now, last)}) // a touch may be later than now
		} // otherwise the member was touched: examine the member again
	}
	return ended
}

// prefetch loads the words of all members. The loop is short enough for the processor
// to fetch many of them in parallel.
func (g *group) prefetch() (sum int64) {
	for _, w := range g.members[:g.n] {
		sum += w.state.word.Load()
	}
	return sum
}

// arm sets the alarm to due. If the timer no longer accepts timeouts, arm ends all
// members.
func (g *group) arm(now int64) error {
	g.alarm = nil
	if g.n == 0 || g.due == never {
		return nil
	}
	delay := time.Duration(g.due - now)
	timeout, err := g.newTimeout(delay)
	switch {
	case err == nil:
		g.alarm = timeout
	case errors.Is(err, hwt.ErrTooManyPending):
		g.alarm = newFallbackTimer(delay, g.scan)
		g.shard.counts.fallbackTimers++
	default:
		g.endAll(endStopped)
	}
	return err
}

// newTimeout is the timer's NewTimeout. A panic becomes an error, because the panic would
// end the program in a scan after a rejection or on a runtime timer.
func (g *group) newTimeout(delay time.Duration) (timeout hwt.Timeout, err error) {
	usercode.Run(func() { timeout, err = g.shard.reaper.timer.NewTimeout(g, delay) },
		func(failed error) { err = fmt.Errorf("NewTimeout: %w", failed) })
	return timeout, err
}

// armBy arms the alarm no later than the deadline of member w. An expired alarm has
// a scan ahead unless an executor discarded it, so armBy arms a new one.
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
		reset := g.alarm.Reset(time.Duration(at - now)) // may panic, so due changes after it
		if g.due = at; !reset {
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

// add adds w to the group.
func (g *group) add(w *Watch, now int64) error {
	w.group, w.slot = g, uint8(g.n)
	g.members[g.n] = w
	g.n++
	return g.armBy(w, now)
}

// remove removes member w.
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
			g.shard.counts.stopped++ // Stop will find the watch removed from the group
		}
		g.remove(w)
	}
	return ended
}
