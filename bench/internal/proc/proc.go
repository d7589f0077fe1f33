// Package proc reads the counters of this process: CPU time, wake-ups, and memory.
package proc

import (
	"runtime"
	"time"
)

// Usage is the resource usage of this process so far.
type Usage struct {
	CPU     time.Duration // of all threads, in the program and in the kernel
	WakeUps int64         // voluntary context switches
}

// Sub returns the usage since earlier.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{CPU: u.CPU - earlier.CPU, WakeUps: u.WakeUps - earlier.WakeUps}
}

// Heap returns the bytes of the live heap after a garbage collection.
func Heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
