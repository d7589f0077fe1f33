package cache

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

const (
	stackBits = 12                 // goroutines' stacks are some KiB apart
	golden    = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spreads neighbours evenly
)

// tally counts look-ups. Each goroutine has a cell of its own, or shares one
// with few, so that look-ups on different processors do not meet: the cell is
// found by where the goroutine's stack is. Any cell would do; only the sum
// counts.
type tally struct {
	cells []cell // Immutable after newTally; a power of two of them.
	shift uint   // Immutable after newTally. Leaves as many high bits as cells need.
}

type cell struct {
	hits, misses atomic.Int64
	_            [padding - 16]byte
}

func newTally() tally {
	n := min(8<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), 1024)
	return tally{cells: make([]cell, n), shift: uint(64 - bits.TrailingZeros(uint(n)))}
}

// cell returns the cell of the calling goroutine.
func (t *tally) cell() *cell {
	var here byte
	return &t.cells[uint64(uintptr(unsafe.Pointer(&here))>>stackBits)*golden>>t.shift]
}

func (t *tally) sum() (hits, misses int64) {
	for i := range t.cells {
		hits += t.cells[i].hits.Load()
		misses += t.cells[i].misses.Load()
	}
	return hits, misses
}
