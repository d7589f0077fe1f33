//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Now returns what the process has used, and whether that is known.
func Now() (Usage, bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, false
	}
	return Usage{User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano())}, true
}
