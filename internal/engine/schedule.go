package engine

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/mpsc"
)

// Ground rules
//
// A tick batches work under load. A timeout that shares its tick with few others need not
// wait for the end of the tick. The worker sleeps until the deadline and takes the timeout
// out of the bucket. A worker that is awake anyway takes timeouts that are due out of larger
// buckets, too. The wheel stays at its tick.
//
//	X1. The worker takes timeouts early only from the tick after the current one, and
//	    only timeouts that are due by the clock. All that are due by the clock are
//	    there, because the current tick has expired.
//	X2. The worker does so at most once per earlyEvery on average, and earlyBurst times in a row.
//	    Without credit, timeouts wait for the end of their tick. Without X2, a task
//	    that schedules itself without delay would occupy a processor.

const (
	// The timeouts of a tick are few if the tick has one per fewEvery or less, or minFew.
	// The worker then sleeps until the earliest. A worker that is awake takes timeouts early
	// from a tick with up to maxFew: it need not wake once more. In both cases, the worker reads
	// the words of all timeouts in the tick.
	fewEvery = time.Millisecond
	minFew   = 8
	maxFew   = 128

	earlyEvery = time.Millisecond
	earlyBurst = 100
)

// transferCap is the greatest number of new timeouts that the worker transfers to the wheel
// in one tick, as in Netty. The rest waits for the next tick. Timeouts that were cancelled
// before the transfer do not count.
const transferCap = 100_000

const (
	// popAtLeast is the number of timeouts of each kind that a drain takes from the intake
	// even after its time is over: the worker must advance with both.
	popAtLeast = 4096

	// maxHold bounds the time for which a round keeps mu, because callers may wait for mu.
	maxHold = time.Millisecond

	// minTraffic arrivals, in addition to one per fewEvery, are not yet traffic.
	minTraffic = 16

	// maxDrainPause is the longest time beyond a tick for which the worker leaves the
	// intake alone. A drain takes a tick, and some milliseconds for popAtLeast. If a drain
	// seems longer, the process was stopped or the machine slept, and newer timeouts must
	// not wait for as long again.
	maxDrainPause = 10 * time.Millisecond
)

// schedule is the wheel, its progress, and the draining of the intake. Guarded by Core.mu,
// except for atomic fields.
type schedule struct {
	env      *env           // Immutable after New.
	intake   *intake        // its queues are drained here. Immutable after New.
	wheel    Wheel          // nil once Stop has taken the wheel
	tick     int64          // the last processed
	earliest int64          // the first tick to which timeouts may be added: tick, or the next once tick has expired
	draining draining       // see there
	walks    walks          // see there
	early    early          // see there
	batch    [batchLen]move // scratch space for drainQueue; a field because a local would escape through Wheel

	orphans []*Timeout // that Stop has taken out of the intake, and events that Stop would find nowhere (E3)
	notices notices    // see there

	// Atomic: written by the holder of mu, read by Stats.
	unprocessed   atomic.Int64 // timeouts that Stop ended
	ticks         atomic.Int64
	deferredTicks atomic.Int64
}

// notices are the cancelled timeouts with tasks that the worker will notify. Guarded by
// Core.mu, except for closed.
type notices struct {
	next   []*Timeout
	closed atomic.Bool // the worker takes no more notices. Atomic: written under mu, read by checkDone.
}

// add leaves the notice of a cancelled timeout to the worker.
func (n *notices) add(t *Timeout) { n.next = append(n.next, t) }

// take returns the notices in exchange for an empty list.
func (n *notices) take(empty []*Timeout) (next []*Timeout) {
	next, n.next = n.next, empty
	return next
}

// close says whether the worker takes no more notices.
func (n *notices) close(closed bool) { n.closed.Store(closed) }

// draining is the worker's memory from one drain to the next. Guarded by Core.mu.
type draining struct {
	turn     int   // the number of drains, so that each stripe comes first in turn
	complete bool  // the last drain emptied the intake
	resumeAt int64 // while the worker is behind, the intake is left alone until then
	stale    bool  // since then the worker slept, or ran users' code
	arrivals int64 // timeouts taken out of the intake, and further lives of events, since the worker fell asleep, until it fired
	sleptAt  int64 // the time at which the worker fell asleep; -1 before the first time
	fired    bool  // the worker has run users' code since
}

// move is a timeout that has left a queue, and the tick at which it goes to the wheel. The
// timeout first leaves its present place in the wheel, if there is one.
type move struct {
	timeout *Timeout
	tick    int64 // nowhere if the timeout has ended
}

// nowhere is the tick of a timeout that is not added again.
const nowhere = -1

// batchLen is the number of timeouts that are drained together, so that the memory of
// one arrives while others are handled.
const batchLen = 32

func (s *schedule) init(env *env, intake *intake, wheel Wheel) {
	s.env, s.intake, s.wheel = env, intake, wheel
	s.earliest = 1
	s.draining = draining{complete: true, stale: true, sleptAt: -1}
}

// tickOf returns the first tick that has come no earlier than deadline.
func (s *schedule) tickOf(deadline int64) int64 { return (deadline-1)/s.env.tickDur + 1 }

// timeOf returns the time at which tick has come; never if the clock does not reach the
// tick.
func (s *schedule) timeOf(tick int64) int64 {
	if tick > (forever-1)/s.env.tickDur {
		return never
	}
	return tick * s.env.tickDur
}

// nextTickAt returns the time at which the tick after the current one has come.
func (s *schedule) nextTickAt() int64 { return (s.tick + 1) * s.env.tickDur }

// moveOf returns the move of t. The word of t is w.
func (s *schedule) moveOf(t *Timeout, w enginekit.Word) move {
	if w.HasEnded() {
		return move{t, nowhere}
	}
	tick := s.tickOf(w.Deadline())
	if tick < s.earliest && w.Deadline() == forever { // the clock is past forever, which never expires
		tick = s.earliest + tick - 1 // the clock ends before that
	}
	return move{t, max(tick, s.earliest)}
}

// storeBatch makes the moves, and returns the number of timeouts that go to the wheel.
func (s *schedule) storeBatch(batch []move) (waiting int) {
	s.prefetch(batch)
	for _, m := range batch {
		s.store(m)
		if m.tick != nowhere {
			waiting++
		}
	}
	clear(batch)
	return waiting
}

// prefetch asks for the memory that the moves need: the chunks that timeouts leave, then
// the first chunks of their buckets, which fill the holes, the timeouts that fill the
// holes, and the first chunks of the target buckets.
func (s *schedule) prefetch(batch []move) {
	held := s.wheel.Held()
	for _, m := range batch {
		held.PrefetchPlace(&m.timeout.node)
		if m.tick == nowhere {
			continue
		}
		if i, ok := s.wheel.Bucket(m.tick); ok {
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
// removed. One in due stays there until firing ends (F1).
func (s *schedule) store(m move) {
	node := &m.timeout.node
	switch {
	case m.tick == nowhere:
		s.remove(m.timeout)
	case !node.IsAt(inDue):
		if node.Stored() {
			s.wheel.Remove(node)
		}
		s.wheel.Add(node, m.tick)
	}
}

// collect moves the timeouts of this tick from the wheel to due. Timeouts with a later
// deadline, because of a Reset or because the wheel stored them early, go back to the
// wheel.
func (s *schedule) collect(due []*store.Node) []*store.Node {
	due = s.wheel.Expire(due)
	now := s.time()
	kept := due[:0]
	for i, n := range due {
		prefetchTimeout(due, i+prefetchAhead)
		n.MoveTo(elsewhere)
		t := timeoutOf(n)
		switch w := t.state.load(); {
		case w.HasEnded(): // cancelled, and in a queue to be drained
		case w.Deadline() > now:
			s.store(s.moveOf(t, w))
		default:
			n.MoveTo(inDue)
			s.showMove(n)
			kept = append(kept, n)
		}
	}
	clear(due[len(kept):])
	return kept
}

// showMove shows the walks under way that n has another place (A2).
func (s *schedule) showMove(n *store.Node) {
	if len(s.walks.underWay) > 0 {
		s.walks.Moved(n)
	}
}

// collectEarly moves the timeouts of the next tick that are due by now to due, unless there
// are more than maxFew in that tick (X1).
func (s *schedule) collectEarly(now int64, due []*store.Node) []*store.Node {
	tick := s.wheel.Next()
	if tick != s.tick+1 || !s.early.allowed(now) {
		return due
	}
	s.early.each(s.wheel, tick, maxFew, func(n *store.Node, w enginekit.Word) {
		if w.Deadline() <= min(now, forever-1) {
			s.wheel.Remove(n)
			n.MoveTo(inDue)
			s.showMove(n)
			due = append(due, n)
		}
	})
	if len(due) > 0 {
		s.early.spend(now)
	}
	return due
}

// nextLook returns the time at which the worker must look at the wheel next, and the first
// deadline that the look covers: the end of the next occupied tick, which covers all
// deadlines of the tick, or the earliest deadline of a tick with few timeouts.
func (s *schedule) nextLook(now int64) (at, covers int64) {
	tick := s.wheel.Next()
	at = s.timeOf(tick)
	if at == never {
		return at, s.firstOf(at)
	}
	first := at
	limit := min(max(s.env.tickDur/int64(fewEvery), minFew), maxFew)
	few := s.early.each(s.wheel, tick, limit, func(_ *store.Node, w enginekit.Word) {
		first = min(first, w.Deadline())
	})
	if !few || !s.early.allowed(max(first, now)) { // at the deadline there may be credit again
		return at, s.firstOf(at)
	}
	return first, first
}

// firstOf returns the first deadline of the tick that comes at the time given.
func (s *schedule) firstOf(at int64) int64 { return max(at-s.env.tickDur+1, 0) }

// time returns the time by which deadlines expire at this tick. The clock may reach
// forever, but a deadline that is forever never expires.
func (s *schedule) time() int64 { return min(s.tick*s.env.tickDur, forever-1) }

// putBack stores the timeouts of due that are pending, and lets ended events leave due
// (E5). The current tick is over, so the next one is the earliest.
func (s *schedule) putBack(due []*store.Node) {
	for _, n := range due {
		t := timeoutOf(n)
		switch w := t.state.load(); {
		case !w.HasEnded():
			n.MoveTo(elsewhere)
			s.wheel.Add(n, s.moveOf(t, w).tick)
		case t.isEvent():
			n.MoveTo(elsewhere)
		}
	}
}

// prefetchAhead is the distance in timeouts at which memory is prefetched, so that the
// memory arrives in time. A timeout and its task were written long ago, and the wait for
// their memory was a large part of the cost of an expiry.
const prefetchAhead = 8

// prefetchTimeout loads the timeout at i of due: the cache line and the next, which may hold
// the rest.
func prefetchTimeout(due []*store.Node, i int) {
	if i < len(due) {
		cacheline.PrefetchPair(unsafe.Pointer(due[i]))
	}
}

// remove takes an ended timeout out of its bucket, if the timeout is in a bucket. If Cancel
// ended the timeout and its task wants a notice, remove queues the notice.
func (s *schedule) remove(t *Timeout) {
	if t.node.Stored() {
		s.wheel.Remove(&t.node)
	}
	switch {
	case t.isEvent() || !t.state.load().IsCancelled():
	case t.wantsNotice():
		s.notices.add(t)
	default:
		s.env.limit.Release(1)
	}
}

// drainAtTick moves new and changed timeouts from the intake to the wheel, before the
// current tick expires. While ticks remain to be made up, the drain uses at most half of
// the worker's time: after a drain that took d, the intake is left alone until d has
// passed. Without this limit, callers that push faster than the worker drains could delay
// timeouts that are already due.
func (s *schedule) drainAtTick(now int64) {
	d := &s.draining
	if !d.complete {
		s.deferredTicks.Add(1)
		s.intake.alarm.assist(0) // the tick before was too short
	}
	if now/s.env.tickDur > s.tick && now < d.resumeAt {
		d.complete = s.intake.empty()
		return
	}
	s.drain(s.nextTickAt())
	end := s.env.clock.Now()
	s.noteEmptied(end)
	d.resumeAt = end + min(end-now, s.env.tickDur+int64(maxDrainPause))
}

// noteEmptied records a latest drain that emptied the intake.
func (s *schedule) noteEmptied(now int64) {
	if s.draining.complete {
		s.intake.noteEmptied(now)
	}
}

// drain drains the intake until the given time: at most transferCap new timeouts, and
// as many changed ones.
func (s *schedule) drain(until int64) {
	d, stripes := &s.draining, s.intake.stripes
	added := budget{room: transferCap, until: until}
	changed := added // a separate share, or new timeouts could starve changed
	for i := range stripes {
		s.drainAdded(&stripes[(d.turn+i)&(len(stripes)-1)], &added)
	}
	for i := range stripes {
		s.drainChanged(&stripes[(d.turn+i)&(len(stripes)-1)], &changed)
	}
	d.turn++
	d.stale = false
	d.complete = !added.spent && !changed.spent || s.intake.empty()
}

// drainRest drains the intake between two ticks, for a bounded time.
func (s *schedule) drainRest(now int64) {
	s.drain(min(s.nextTickAt(), now+int64(maxHold)))
	s.noteEmptied(now)
}

// drainAll drains the whole intake.
func (s *schedule) drainAll() {
	for i := range s.intake.stripes {
		b := budget{room: math.MaxInt, until: never}
		s.drainAdded(&s.intake.stripes[i], &b)
		s.drainChanged(&s.intake.stripes[i], &b)
	}
}

// assist drains up to n timeouts of a stripe for a caller, the changed ones first.
func (s *schedule) assist(from *stripe, n int) {
	b := budget{room: n, until: never}
	s.drainChanged(from, &b)
	b.spent = false
	s.drainAdded(from, &b)
}

// drainSome drains up to n timeouts of q, a queue of the stripe from. drainSome returns the
// number of drained timeouts, without timeouts that had ended in added.
func (s *schedule) drainSome(from *stripe, q *mpsc.Queue[Timeout], n int) (popped int) {
	b := budget{room: n, until: never}
	if q == &from.added {
		s.drainAdded(from, &b)
	} else {
		s.drainChanged(from, &b)
	}
	return b.popped
}

// budget bounds the timeouts that a drain takes from one kind of queue.
type budget struct {
	room   int   // timeouts that may still be moved; ended timeouts do not count
	until  int64 // when the time is over
	popped int   // timeouts taken
	spent  bool  // there is no room, or no time
}

// allows reports whether one more timeout may be taken.
func (b *budget) allows(clock *enginekit.Clock) bool {
	if b.popped++; b.popped%1024 == 0 && b.popped > popAtLeast && clock.Now() >= b.until {
		b.spent = true
	}
	return !b.spent
}

// drainAdded drains the new timeouts of a stripe. First, it drops ended timeouts.
func (s *schedule) drainAdded(from *stripe, b *budget) {
	if from.added.Empty() {
		return
	}
	dead := 0
	from.added.DeleteFunc(func(t *Timeout) bool {
		if !isDead(t) {
			return false
		}
		dead++
		return true
	})
	if dead > 0 {
		s.countDrained(from, dead)
		s.env.limit.Release(int64(dead))
	}
	s.drainQueue(from, &from.added, b)
}

// drainChanged drains the timeouts of a stripe that were cancelled, or reset to earlier,
// after the transfer, and the stripe's events.
func (s *schedule) drainChanged(from *stripe, b *budget) {
	if from.changed.Empty() {
		return
	}
	was := from.drained.Load()
	s.drainQueue(from, &from.changed, b)
	drained := from.drained.Load() - was
	if lives := from.newLives(); !s.draining.fired {
		s.draining.arrivals += max(lives-drained, 0) // an event may have had many since its last drain
	}
}

// countDrained counts n timeouts that left a queue of a stripe.
func (s *schedule) countDrained(from *stripe, n int) {
	from.countDrained(n)
	if !s.draining.fired {
		s.draining.arrivals += int64(n)
	}
}

// isDead reports whether a new timeout ended before its transfer, and its task wants no
// notice.
func isDead(t *Timeout) bool {
	return t.state.load().HasEnded() && !t.wantsNotice()
}

// drainQueue drains q, a queue of the stripe from, within b.
func (s *schedule) drainQueue(from *stripe, q *mpsc.Queue[Timeout], b *budget) {
	for !b.spent {
		batch := s.batch[:0]
		for len(batch) < min(b.room, batchLen) && b.allows(s.env.clock) {
			t := q.Pop()
			if t == nil {
				break
			}
			if t.node.IsAt(elsewhere) {
				t.node.Marks = uint16(s.walks.seen) // (A1)
			}
			batch = append(batch, s.moveOf(t, t.state.dequeue()))
		}
		if len(batch) == 0 {
			return
		}
		s.countDrained(from, len(batch))
		b.room -= s.storeBatch(batch)
		if b.room == 0 {
			b.spent = true
		}
	}
}

// busy reports whether there is traffic: since the worker fell asleep, the number of arrivals has
// exceeded the sum of one per fewEvery, minTraffic, and more.
func (d *draining) busy(now, more int64) bool {
	return d.arrivals > (now-d.sleptAt)/int64(fewEvery)+minTraffic+more
}

// slept reports whether the worker has slept.
func (d *draining) slept() bool { return d.sleptAt >= 0 }

// hasWork reports whether the intake may hold timeouts, or notices are queued.
func (s *schedule) hasWork() bool {
	return s.draining.stale || !s.draining.complete || len(s.notices.next) > 0
}

// noteFiring records that the worker runs users' code.
func (s *schedule) noteFiring() { s.draining.fired, s.draining.stale = true, true }

// noteSleep records that the worker falls asleep, and counts arrivals from now on.
func (s *schedule) noteSleep(now int64) {
	d := &s.draining
	d.arrivals, d.sleptAt, d.fired, d.stale = 0, now, false, true
}

// skipTo moves the wheel to tick, or to the tick before the next tick with work if that is
// earlier. A wheel places timeouts by the distance from its tick. From a tick long past,
// Next could be a tick that is over, as if the worker were late.
func (s *schedule) skipTo(tick int64) {
	if tick > s.tick { // Next takes time
		tick = min(tick, s.wheel.Next()-1)
	}
	if tick > s.tick {
		s.tick, s.earliest = tick, tick+1
		s.wheel.MoveTo(tick)
	}
}

// advance processes the current tick, or an earlier tick with due timeouts if the worker is
// behind. It appends the due timeouts to due.
func (s *schedule) advance(now int64, due []*store.Node) []*store.Node {
	s.tick = min(now/s.env.tickDur, max(s.wheel.Next(), s.tick+1))
	s.earliest = s.tick
	s.wheel.MoveTo(s.tick)
	s.drainAtTick(now)
	s.earliest = s.tick + 1
	s.ticks.Add(1)
	return s.collect(due)
}

// early finds the timeouts of a tick, and bounds early collections. Guarded by Core.mu.
type early struct {
	fullAt int64         // when there is credit for earlyBurst again (X2)
	nodes  []*store.Node // scratch space for each
}

// allowed reports whether there is credit.
func (e *early) allowed(now int64) bool {
	return e.fullAt-now <= (earlyBurst-1)*int64(earlyEvery)
}

// spend takes credit for one collection.
func (e *early) spend(now int64) { e.fullAt = max(e.fullAt, now) + int64(earlyEvery) }

// each calls see for the pending timeouts of a tick in w, if there are at most limit. Otherwise
// each returns false. Next must have returned tick.
func (e *early) each(w Wheel, tick, limit int64, see func(*store.Node, enginekit.Word)) (ok bool) {
	e.nodes, ok = w.Peek(tick, int(limit), e.nodes[:0])
	if ok {
		for _, n := range e.nodes {
			if word := timeoutOf(n).state.load(); !word.HasEnded() {
				see(n, word)
			}
		}
	}
	clear(e.nodes)
	return ok
}

// addOrphan makes an event an orphan, unless Stop has taken the wheel (E3).
func (s *schedule) addOrphan(t *Timeout) {
	if s.wheel != nil {
		s.orphans = append(s.orphans, t)
	}
}

// takeIntake makes all timeouts of the intake orphans. Guarded by mu.
func (s *schedule) takeIntake() {
	for i := range s.intake.stripes {
		from := &s.intake.stripes[i]
		for _, q := range []*mpsc.Queue[Timeout]{&from.added, &from.changed} {
			for t := q.Pop(); t != nil; t = q.Pop() {
				s.countDrained(from, 1)
				s.orphans = append(s.orphans, t)
			}
		}
	}
}

// endAll calls end for each timeout of the wheel and for each orphan, and gives the wheel up.
func (s *schedule) endAll(end func(*Timeout)) {
	for _, t := range s.orphans {
		if end(t); !t.node.IsAt(endedByStop) && t.state.load().IsCancelled() && t.wantsNotice() {
			s.notices.add(t) // Cancel has left the notice to the worker
		}
	}
	s.orphans = nil
	for n := range s.wheel.Held().All {
		end(timeoutOf(n))
	}
	s.wheel = nil
}

// countUnprocessed counts n timeouts that Stop ended.
func (s *schedule) countUnprocessed(n int) { s.unprocessed.Add(int64(n)) }
