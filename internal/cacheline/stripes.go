package cacheline

import (
	"math/bits"
	"runtime"
)

// Padding separates memory that different processors write: two cache lines of 64
// bytes, since amd64 fetches them in pairs and several arm64 processors have lines
// of 128.
const Padding = 128

// fibonacciHash is 2^64 divided by the golden ratio. Multiplying by it spreads
// neighbouring numbers evenly over the high bits.
const fibonacciHash = 0x9E3779B97F4A7C15

// Stripes returns the number of stripes for GOMAXPROCS processors: perProc times the next power
// of two, at most most. Both arguments must be powers of two, and so is the result.
func Stripes(perProc, most int) int { return stripes(runtime.GOMAXPROCS(0), perProc, most) }

func stripes(procs, perProc, most int) int {
	return min(perProc<<bits.Len(uint(procs-1)), most)
}

// Shift returns the shift that [StripeOf] needs for n stripes, a power of two.
func Shift(n int) uint { return uint(64 - bits.TrailingZeros(uint(n))) }

// StripeOf returns the stripe of key, from 0 to n-1 for the [Shift] of n. Keys that
// differ in few bits have different stripes.
func StripeOf(key uint64, shift uint) uint64 { return key * fibonacciHash >> shift }

// Share returns a number from 0 to n-1 for key, for any n below 2^32. It uses other
// bits than [StripeOf], so keys of one share have all stripes.
func Share(key uint64, n int) int {
	return int(uint64(uint32(key*fibonacciHash)) * uint64(n) >> 32)
}
