//go:build unix

package cli

import (
	"syscall"
	"time"
)

// CPUNow returns the processor time of this process, and false if the system does
// not report it.
func CPUNow() (CPU, bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return CPU{}, false
	}
	return CPU{User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano())}, true
}
