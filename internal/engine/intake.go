package engine

import (
	"runtime"
	"sync/atomic"
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
//	S3. All stripes of all workers are closed before Stop drains any, and before a
//	    push that failed is reported. A push either precedes its stripe's closing
//	    and is drained, or fails; after one that failed, all do.
//	S4. A timeout may be in the queue added of another stripe than its own, if it
//	    came in a batch. Callers do not know its handle before the batch has woken
//	    the worker, and the worker does not sleep again before it took the batch. A
//	    caller that finds the worker asleep therefore finds no such timeout queued,
//	    and may look for a queued timeout in the timeout's stripe.
//	S5. A batch for several workers is pushed under Handle.batching, and so are the
//	    intakes closed. If its first push succeeds, all do. Only pushes happen under that
//	    lock: Stop waits for no users' code, and for no worker.

const (
	spanBits       = 13 // spans of small objects are 8 KiB
	stripesPerProc = 4  // roomy, so that two processors seldom share
	maxStripes     = 256
)

// stripe is written by the callers on one processor, except for its end, which the
// holder of Core.mu writes.
type stripe struct {
	added     mpsc.Queue[Timeout] // new timeouts
	changed   mpsc.Queue[Timeout] // timeouts cancelled, or reset to earlier, after they left added; events
	_         [16]byte            // so that the counts are on one cache line, on 64-bit machines
	accepted  atomic.Int64        // pushes to added. Atomic: written by NewTimeout, read by all.
	removed   atomic.Int64        // pushes to changed by Cancel, and those that failed. Atomic: written by Cancel, read by all.
	reset     atomic.Int64        // pushes to changed by Reset and of events, less those of Cancel that failed. Atomic: written by Reset, Arm, and Cancel, read by callers.
	cancelled atomic.Int64        // timeouts cancelled while in a queue, and cancelled events. Atomic: written by Cancel, read by all.
	armed     atomic.Int64        // lives of events (E6). Atomic: written by Arm, read by all.
	resets    atomic.Int64        // estimate of all resets, see countReset. Atomic: written by Reset, read by Stats.
	_         [cacheline.Padding]byte

	drained atomic.Int64 // out of both queues. Atomic: written by the holder of Core.mu, read by callers.
	_       [cacheline.Padding + 8]byte
}

// backlog returns about how many timeouts are in the two queues.
func (s *stripe) backlog() int64 { return s.pushed() - s.drained.Load() }

// pushed returns how many timeouts were pushed to the two queues. It reads reset first: a Cancel
// that fails to push adds to removed and then takes from reset, and the sum must not be too
// low meanwhile (E3).
func (s *stripe) pushed() int64 { return s.reset.Load() + s.accepted.Load() + s.removed.Load() }

// intake is the callers' side of the timer.
type intake struct {
	stripes []stripe // Immutable after New; a power of two of them.
	shift   uint     // Immutable after New. For cacheline.StripeOf.
}

func newIntake() intake {
	n := 1
	if runtime.GOMAXPROCS(0) > 1 {
		n = cacheline.Stripes(stripesPerProc, maxStripes)
	}
	in := intake{stripes: make([]stripe, n), shift: cacheline.Shift(n)}
	for i := range in.stripes {
		in.stripes[i].added.Init(linkOf)
		in.stripes[i].changed.Init(linkOf)
	}
	return in
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

// backlog returns about how many timeouts are in all queues.
func (in *intake) backlog() (n int64) {
	for i := range in.stripes {
		held, _ := enginekit.Between(in.stripes[i].pushed, in.stripes[i].drained.Load)
		n += held
	}
	return n
}

// resetSample is the number of resets that a counted one stands for.
const resetSample = 64

// countReset counts a reset of t, for resetSample of them, if it is one of a sample: one
// that is as good as random, since deadlines differ in their nanoseconds.
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
	ticking                // the worker will look at the intake at its next tick
	asleep                 // the worker may sleep for long: a caller that pushes must attend (pace.go)
	stopped                // the worker has ended or is ending
)

// phaseWord is an atomic phase.
type phaseWord struct{ word atomic.Int32 }

func (p *phaseWord) Load() phase     { return phase(p.word.Load()) }
func (p *phaseWord) Store(now phase) { p.word.Store(int32(now)) }
func (p *phaseWord) CompareAndSwap(was, now phase) bool {
	return p.word.CompareAndSwap(int32(was), int32(now))
}

// signal is how callers reach the worker. On cache lines that only the worker, and callers
// that wake it or may rest, write.
type signal struct {
	_          [cacheline.Padding]byte
	phase      phaseWord    // Atomic: see worker.go.
	alarm      atomic.Int64 // the earliest deadline that a sleeping worker's timer does not cover: a caller with an earlier one must act (P3). Atomic: written under mu, read by callers.
	emptied    atomic.Int64 // the last time at which the intake was known to be empty, while phase is ticking. Atomic: written by the worker and wakeWorker, read by Stats.
	nextPush   atomic.Int64 // the time for the next pushes of callers that outrun the worker (P4). Atomic: written by callers.
	assistFrom atomic.Int64 // the time from which callers assist (pace.go). Atomic: written under mu and by wakeWorker, read by callers.
	_          [cacheline.Padding]byte
}
