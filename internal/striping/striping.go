// Package striping is for state that is split into stripes, so that callers on
// different processors seldom write to the same cache lines.
package striping

import (
	"math/bits"
	"runtime"
)

// Padding is the size of the gap that keeps one processor's writes from slowing down
// another's: two cache lines of 64 bytes, because amd64 fetches them in pairs and
// several arm64 processors have lines of 128.
const Padding = 128

// fibonacciHash is 2^64 divided by the golden ratio. Multiplying by it spreads
// neighbouring numbers evenly over the high bits.
const fibonacciHash = 0x9E3779B97F4A7C15

// Count returns how many stripes to make for GOMAXPROCS processors: perProc
// times the next power of two, and most at most. perProc and most must be powers
// of two, so that the result is one.
func Count(perProc, most int) int { return count(runtime.GOMAXPROCS(0), perProc, most) }

func count(procs, perProc, most int) int {
	return min(perProc<<bits.Len(uint(procs-1)), most)
}

// Shift returns what Of needs to know of n stripes, a power of two.
func Shift(n int) uint { return uint(64 - bits.TrailingZeros(uint(n))) }

// Of returns the stripe of key, from 0 to n-1 for the shift of n. Keys that differ
// in few bits fall on different stripes.
func Of(key uint64, shift uint) uint64 { return key * fibonacciHash >> shift }

// Share returns a number from 0 to n-1 for key, for any n below 2^32. It takes
// other bits than Of: keys with one share fall on all stripes.
func Share(key uint64, n int) int {
	return int(uint64(uint32(key*fibonacciHash)) * uint64(n) >> 32)
}
