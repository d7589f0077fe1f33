//go:build unix

package proc

import (
	"syscall"
	"time"
)

// Now returns what the process has used so far.
func Now() Usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // it cannot fail for oneself
	}
	return Usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), WakeUps: int64(r.Nvcsw)}
}
