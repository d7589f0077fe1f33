package measure

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// node is as big as a timeout of ours: an allocation of 48 bytes that holds
// pointers.
type node struct {
	life int64
	_    [5]*node
}

// floor measures what a timer can hardly do without: to allocate the timeout, to read
// the clock, and to hand the timeout over. It measures all three together, and each.
func floor(s spec.Spec) spec.Sample {
	var head atomic.Pointer[node]
	start := time.Now()
	var clock int64
	spare := new(node)
	metrics := timed(1, func() int {
		for range s.N {
			head.Swap(&node{life: int64(time.Since(start))})
		}
		return s.N
	})
	metrics[spec.AllocNs] = one(s.N, func() { Kept = new(node) })
	metrics[spec.ClockNs] = one(s.N, func() { clock += int64(time.Since(start)) })
	metrics[spec.SwapNs] = one(s.N, func() { spare = head.Swap(spare) })
	runtime.KeepAlive(clock)
	return spec.Sample{Metrics: metrics}
}

// Kept keeps the compiler from removing the allocation.
var Kept *node

// one returns the CPU time of one f.
func one(n int, f func()) float64 {
	return timed(1, func() int {
		for range n {
			f()
		}
		return n
	})[spec.CPUNs]
}
