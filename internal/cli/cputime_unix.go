//go:build unix

package cli

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of all threads of this process, in the program and in
// the system on its behalf. The time includes a timer's worker and the garbage collector.
// ok is false if the system does not report processor time.
func CPUTime() (used time.Duration, ok bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
