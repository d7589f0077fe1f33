package engine

import (
	"iter"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/mpsc"
)

// Ground rules
//
// The intake is striped, so that callers on different processors do not contend for the
// head of a queue and its counters. The stripe of a timeout is a function of its address.
// The allocator gives each processor separate spans of memory: the timeouts of one
// processor fall on one stripe for the length of a span, and two processors mostly use
// two stripes. Finding the stripe costs a multiplication, without a token or pinning.
//
//	S1. Nothing depends on which stripe is taken: the counts are only ever
//	    summed over all stripes, and the worker visits them all.
//	S2. accepted is counted before the push, and taken back if it fails. An end is
//	    counted after it, and before it gives its place in the pending limit back. At
//	    every moment, the difference is between 0 and the limit. A reader of sums
//	    cannot see one moment: see enginekit.Between.
//	S3. All stripes of all workers are closed before Stop drains any, and before a push that
//	    failed is reported. A push either precedes its stripe's closing and is drained, or
//	    fails. After a push has failed, all later pushes fail.
//	S4. A timeout may be in the queue added of another stripe than its own, if it came in a
//	    batch. Callers do not know its handle before the batch has woken the worker, and the
//	    worker does not sleep again before it took the batch. If a caller finds the worker
//	    asleep, no such timeout is queued, and the caller may look for a queued timeout in the
//	    timeout's own stripe.
//	S5. A batch for several workers is pushed under Handle.batching, and so are the
//	    intakes closed. If its first push succeeds, all do. Only pushes happen under that
//	    lock: Stop waits for no users' code, and for no worker.

const (
	spanBits       = 13 // spans of small objects are 8 KiB
	stripesPerProc = 4  // roomy, so that two processors seldom share
	maxStripes     = 256
)

// stripe is written by the callers on one processor. The holder of Core.mu writes only the last
// two fields.
type stripe struct {
	added     mpsc.Queue[Timeout] // new timeouts
	changed   mpsc.Queue[Timeout] // timeouts cancelled, or reset to earlier, after leaving added; events
	_         [16]byte            // so that the counts are on one cache line, on 64-bit machines
	accepted  atomic.Int64        // pushes to added. Atomic: written by NewTimeout, read by all.
	removed   atomic.Int64        // pushes to changed by Cancel, failed pushes included. Atomic: written by Cancel, read by all.
	reset     atomic.Int64        // pushes to changed by Reset and of events, less the failed pushes of Cancel. Atomic: written by Reset, Arm, and Cancel, read by callers.
	cancelled atomic.Int64        // timeouts cancelled while in a queue, and cancelled events. Atomic: written by Cancel, read by all.
	armed     atomic.Int64        // lives of events (E6). Atomic: written by Arm, read by all.
	resets    atomic.Int64        // estimate of all resets, see countReset. Atomic: written by Reset, read by Stats.
	_         [cacheline.Padding]byte

	drained atomic.Int64 // out of both queues. Atomic: written by the holder of Core.mu, read by callers.
	lives   int64        // the value of armed at the latest look. Guarded by Core.mu.
	_       [cacheline.Padding]byte
}

// countNew counts a push to added before the push (S2). countNew returns the number of the
// push.
func (s *stripe) countNew() (n int64) { return s.accepted.Add(1) }

// uncountNew takes a count back, because the push failed.
func (s *stripe) uncountNew() { s.accepted.Add(-1) }

// pushBatch pushes n new timeouts. pushBatch returns the number of the last push, and false
// if the queue is closed.
func (s *stripe) pushBatch(timeouts iter.Seq[*Timeout], n int64) (last int64, ok bool) {
	ok = s.added.PushAll(func(yield func(*Timeout) bool) {
		timeouts(yield)
		last = s.accepted.Add(n) // only now, or callers would try to help before the push
	})
	if !ok {
		s.accepted.Add(-n)
	}
	return last, ok
}

// countCancelled counts a timeout that Cancel ended (S2), and its push to changed.
// countCancelled returns the number of the push.
func (s *stripe) countCancelled() (n int64) { return s.removed.Add(1) }

// countCancelledInQueue counts a timeout or event that Cancel ended, without a push.
func (s *stripe) countCancelledInQueue() { s.cancelled.Add(1) }

// countChange counts a push to changed by Reset, or of an event, before the push happens.
// countChange returns the number of the push.
func (s *stripe) countChange() (n int64) { return s.reset.Add(1) }

// uncountChange takes the count of a push to changed back, because the push failed, or because
// the word of an event did not change. A Cancel that fails to push calls uncountChange, too:
// Stats shows removed, so removed must only grow.
func (s *stripe) uncountChange() { s.reset.Add(-1) }

// countLife counts a life of an event (E6), or takes the count back if n is -1.
func (s *stripe) countLife(n int64) { s.armed.Add(n) }

// newLives returns the number of lives of events since its last call. Guarded by Core.mu.
func (s *stripe) newLives() (n int64) {
	was := s.lives
	s.lives = s.armed.Load()
	return s.lives - was
}

// countDrained counts n timeouts that left a queue. Guarded by Core.mu.
func (s *stripe) countDrained(n int) { s.drained.Store(s.drained.Load() + int64(n)) }

// backlog returns the approximate number of timeouts in the two queues.
func (s *stripe) backlog() int64 { return s.pushed() - s.drained.Load() }

// pushed returns the number of pushes to the two queues. It reads reset first: a Cancel that
// fails to push adds to removed and then takes from reset, and the sum must not be too low
// between the two steps (E3).
func (s *stripe) pushed() int64 { return s.reset.Load() + s.accepted.Load() + s.removed.Load() }

// intake is the part of a worker that callers reach without a lock: the queues, and the words
// by which callers and the worker reach each other. The words are on cache lines that only
// the worker, and callers that wake the worker or may rest, write.
type intake struct {
	stripes []stripe // Immutable after New; the number is a power of two.
	shift   uint     // Immutable after New. For cacheline.StripeOf.

	_        [cacheline.Padding]byte
	phase    phaseWord    // Atomic: see worker.go.
	alarm    alarm        // Atomic: see there.
	emptied  atomic.Int64 // the last time at which the queues were known to be empty, while phase is ticking. Atomic: written by the worker and wakeWorker, read by Stats.
	nextPush atomic.Int64 // the time for the next pushes of callers that outrun the worker (P4). Atomic: written by callers.
	_        [cacheline.Padding]byte
}

// alarm is the plan of the worker's next wake-up. The three times are atomic. All three are
// written under Core.mu, and assistFrom also by wakeWorker; callers read all.
type alarm struct {
	covers     atomic.Int64 // the earliest deadline that the worker's runtime timer does not cover: a caller with an earlier one must act (P3)
	at         atomic.Int64 // when the worker means to look next; never if only a caller wakes it
	assistFrom atomic.Int64 // from when callers assist; also the time from which a woken worker is late
}

// set plans a wake-up at the time at. The wake-up covers deadlines from covers on. Callers
// assist from assistFrom on.
func (a *alarm) set(at, covers, assistFrom int64) {
	a.at.Store(at)
	a.covers.Store(covers)
	a.assistFrom.Store(assistFrom)
}

// expect plans the next look of a worker that stays awake.
func (a *alarm) expect(at int64) { a.at.Store(at) }

// cover changes the deadlines that the alarm covers.
func (a *alarm) cover(from int64) { a.covers.Store(from) }

// assist has callers assist from the given time on.
func (a *alarm) assist(from int64) { a.assistFrom.Store(from) }

// due returns the time at which the worker should be awake.
func (a *alarm) due() int64 { return min(a.at.Load(), a.assistFrom.Load()) }

// lateness returns the time by which the worker is late.
func (a *alarm) lateness(now int64) int64 { return max(now-a.at.Load(), 0) }

func (in *intake) init() {
	n := 1
	if runtime.GOMAXPROCS(0) > 1 {
		n = cacheline.Stripes(stripesPerProc, maxStripes)
	}
	in.stripes, in.shift = make([]stripe, n), cacheline.Shift(n)
	for i := range in.stripes {
		in.stripes[i].added.Init(linkOf)
		in.stripes[i].changed.Init(linkOf)
	}
	in.alarm.set(never, 0, never)
}

func linkOf(t *Timeout) *mpsc.Link[Timeout] { return &t.link }

// of returns the stripe of t (S1).
func (in *intake) of(t *Timeout) *stripe {
	return &in.stripes[cacheline.StripeOf(spanOf(t), in.shift)]
}

// spanOf returns the number of the allocator's span that t is in.
func spanOf(t *Timeout) uint64 { return uint64(uintptr(unsafe.Pointer(t))) >> spanBits }

// numberOf returns a number that no other timeout in memory has.
func numberOf(t *Timeout) uint64 { return uint64(uintptr(unsafe.Pointer(t))) >> 4 }

// close makes every later push fail (S3).
func (in *intake) close() {
	for i := range in.stripes {
		in.stripes[i].added.Close()
		in.stripes[i].changed.Close()
	}
}

// empty reports whether there is nothing to drain. Guarded by Core.mu.
func (in *intake) empty() bool {
	for i := range in.stripes {
		if s := &in.stripes[i]; !s.added.Empty() || !s.changed.Empty() {
			return false
		}
	}
	return true
}

// backlog returns the approximate number of timeouts in all queues.
func (in *intake) backlog() (n int64) {
	for i := range in.stripes {
		held, _ := enginekit.Between(in.stripes[i].pushed, in.stripes[i].drained.Load)
		n += held
	}
	return n
}

// resetSample is the number of resets that a counted one stands for.
const resetSample = 64

// countReset counts a reset of t, for resetSample resets, if the reset is in a sample. The
// sample is as good as random, since deadlines differ in their nanoseconds.
func (in *intake) countReset(t *Timeout, deadline int64) {
	if cacheline.Share(uint64(deadline)+numberOf(t), resetSample) == 0 {
		in.of(t).resets.Add(resetSample)
	}
}

// resets sums over the stripes.
func (in *intake) resets() (n int64) {
	for i := range in.stripes {
		n += in.stripes[i].resets.Load()
	}
	return n
}

// accepted sums over the stripes.
func (in *intake) accepted() (n int64) {
	for i := range in.stripes {
		n += in.stripes[i].accepted.Load() + in.stripes[i].armed.Load()
	}
	return n
}

// cancelled sums over the stripes.
func (in *intake) cancelled() (n int64) {
	for i := range in.stripes {
		n += in.stripes[i].cancelled.Load() + in.stripes[i].removed.Load()
	}
	return n
}

// phase is the part of the worker's state that callers need to know.
type phase int32

const (
	unstarted phase = iota // there is no worker
	ticking                // the worker will look at the intake at the next tick
	asleep                 // the worker may sleep for long: a caller that pushes looks at the alarm (core.go)
	stopped                // the worker has ended or is ending
)

// phaseWord is an atomic phase.
type phaseWord struct{ word atomic.Int32 }

func (p *phaseWord) Load() phase     { return phase(p.word.Load()) }
func (p *phaseWord) Store(now phase) { p.word.Store(int32(now)) }
func (p *phaseWord) CompareAndSwap(was, now phase) bool {
	return p.word.CompareAndSwap(int32(was), int32(now))
}

// change moves phase from was to now (W1). change returns false if phase is not was.
func (in *intake) change(was, now phase) bool { return in.phase.CompareAndSwap(was, now) }

// stop moves phase to stopped, for good (W1).
func (in *intake) stop() { in.phase.Store(stopped) }

// noteEmptied records that the queues were empty at the given time, or that phase has become
// ticking then.
func (in *intake) noteEmptied(now int64) { in.emptied.Store(now) }

// turn returns the time at which a caller that outruns the worker may push next, at most
// longest from now. The next turn comes after interval (P4).
func (in *intake) turn(now, interval, longest int64) (at int64) {
	was := in.nextPush.Load()
	at = min(max(was, now), now+longest)
	in.nextPush.CompareAndSwap(was, at+interval)
	return at
}

// age returns the time since the queues were last empty, for a worker that ticks.
func (in *intake) age(now int64) time.Duration { return time.Duration(now - in.emptied.Load()) }
