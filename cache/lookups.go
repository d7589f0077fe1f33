package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

const (
	stackBits = 12 // stacks of goroutines are some KiB apart
	maxCells  = 1024
)

// lookups counts lookups. A goroutine picks a cell by the address of its stack, so that
// lookups on different processors rarely write to the same cell. Every cell is correct,
// since only the sum matters.
type lookups struct {
	cells []cell // The number is a power of two. Immutable after newLookups.
	shift uint   // For cacheline.StripeOf. Immutable after newLookups.
}

type cell struct {
	hits, misses atomic.Int64
	_            [cacheline.Padding - 16]byte
}

func newLookups() lookups {
	n := cacheline.Stripes(8, maxCells)
	return lookups{cells: make([]cell, n), shift: cacheline.Shift(n)}
}

// cell returns the cell of the calling goroutine.
func (l *lookups) cell() *cell {
	var here byte
	return &l.cells[cacheline.StripeOf(uint64(uintptr(unsafe.Pointer(&here))>>stackBits), l.shift)]
}

func (l *lookups) sum() (hits, misses int64) {
	for i := range l.cells {
		hits += l.cells[i].hits.Load()
		misses += l.cells[i].misses.Load()
	}
	return hits, misses
}
