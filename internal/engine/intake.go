package engine

import (
	"runtime"
	"unsafe"

	"math/bits"
	"sync/atomic"

	"github.com/hashedwheel/hwt/mpsc"
)

// Ground rules
//
// The intake is striped, so that callers on different processors do not fight
// over one queue head and one counter. Which stripe a timeout uses is a
// function of its address: the allocator hands each processor a span of memory
// of its own, so that the timeouts one processor makes fall on one stripe for a
// span's length, and those of two processors on two, most of the time. Finding
// the stripe costs a multiplication, and no token, no pinning.
//
//	S1. Nothing depends on which stripe is taken: the counts are only ever
//	    summed over all stripes, and the worker visits them all.
//	S2. accepted is counted before the push, and taken back if it fails; the
//	    ends are counted after it. A reader that sums the ends first never sees
//	    more ends than accepted timeouts.
//	S3. All stripes are closed before Stop drains any. A push either precedes
//	    its stripe's closing and is drained, or fails.

const (
	spanBits   = 13                 // spans of small objects are 8 KiB
	golden     = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spreads span numbers evenly
	maxStripes = 128
	padding    = 128
)

// stripe is what the callers on one processor write to.
type stripe struct {
	added     mpsc.Queue[Timeout] // new timeouts
	changed   mpsc.Queue[Timeout] // timeouts cancelled, or reset to earlier, after they left added
	accepted  atomic.Int64        // Atomic: written by NewTimeout, read by all.
	cancelled atomic.Int64        // Atomic: written by Cancel, read by all.
	_         [padding]byte
}

// intake is the callers' side of the timer.
type intake struct {
	stripes []stripe // Immutable after New; a power of two of them.
	shift   uint     // Immutable after New. Leaves as many high bits as stripes need.
}

func newIntake() intake {
	n := 1
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		n = min(4<<bits.Len(uint(procs-1)), maxStripes) // roomy, so that two processors seldom share
	}
	in := intake{stripes: make([]stripe, n), shift: uint(64 - bits.TrailingZeros(uint(n)))}
	for i := range in.stripes {
		in.stripes[i].added.Init(linkOf)
		in.stripes[i].changed.Init(linkOf)
	}
	return in
}

func linkOf(t *Timeout) *mpsc.Link[Timeout] { return &t.link }

// of returns the stripe of t (S1).
func (in *intake) of(t *Timeout) *stripe {
	span := uint64(uintptr(unsafe.Pointer(t))) >> spanBits
	return &in.stripes[span*golden>>in.shift]
}

// close makes every later push fail (S3).
func (in *intake) close() {
	for i := range in.stripes {
		in.stripes[i].added.Close()
		in.stripes[i].changed.Close()
	}
}

// empty reports whether there is nothing to settle. Guarded by Core.mu.
func (in *intake) empty() bool {
	for i := range in.stripes {
		if s := &in.stripes[i]; !s.added.Empty() || !s.changed.Empty() {
			return false
		}
	}
	return true
}

// counts sums over the stripes; cancelled first (S2).
func (in *intake) counts() (accepted, cancelled int64) {
	for i := range in.stripes {
		cancelled += in.stripes[i].cancelled.Load()
	}
	for i := range in.stripes {
		accepted += in.stripes[i].accepted.Load()
	}
	return accepted, cancelled
}
