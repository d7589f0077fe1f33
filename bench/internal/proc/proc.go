// Package proc reads the counters of this process, such as its CPU time, how often it woke up,
// and its memory. It also starts processes that measure.
package proc

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
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

// Sample runs a program that prints a sample in JSON, and returns the sample.
func Sample[S any](ctx context.Context, program string, args ...string) (s S, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s, err
}
