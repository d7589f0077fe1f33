package durable

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// callers are the goroutines of a Work that call its handler.
type callers []caller

type caller struct {
	goroutine atomic.Uint64 // its ID
	begun     atomic.Int64  // when the handler that runs was called, in nanoseconds since the epoch, or 0
}

// running returns the number of running handlers, and the time since the first of them was called.
func (cs callers) running() (n int64, oldest time.Duration) {
	now := time.Now().UnixNano()
	for i := range cs {
		if begun := cs[i].begun.Load(); begun != 0 {
			n++
			oldest = max(oldest, time.Duration(now-begun))
		}
	}
	return n, oldest
}

// runsIn reports whether one of them runs a handler in the goroutine.
func (cs callers) runsIn(goroutine uint64) bool {
	for i := range cs {
		if c := &cs[i]; c.goroutine.Load() == goroutine && c.begun.Load() != 0 {
			return true
		}
	}
	return false
}

// stack returns the stack of the goroutine. It stops the program for the time of reading all stacks, of
// which it reads up to 16 MB.
func (c *caller) stack() string {
	all := make([]byte, 1<<20)
	for len(all) < 16<<20 && runtime.Stack(all, true) == len(all) {
		all = make([]byte, 2*len(all))
	}
	begin := fmt.Appendf(nil, "goroutine %d [", c.goroutine.Load())
	for stack := range bytes.SplitSeq(all[:runtime.Stack(all, true)], []byte("\n\n")) {
		if bytes.HasPrefix(stack, begin) {
			return string(stack)
		}
	}
	return "not found in 16 MB of stacks"
}

// goroutineID returns the ID of the calling goroutine, from the beginning of its stack trace.
func goroutineID() uint64 {
	var stack [64]byte
	fields := bytes.Fields(stack[:runtime.Stack(stack[:], false)])
	id, _ := strconv.ParseUint(string(fields[1]), 10, 64) // "goroutine 17 [running]:"
	return id
}
