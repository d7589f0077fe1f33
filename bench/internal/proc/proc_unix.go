//go:build unix

package proc

import (
	"syscall"

	"github.com/hashedwheel/hwt/internal/cli"
)

// Now returns the usage so far.
func Now() Usage {
	used, known := cli.CPUTime()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil || !known {
		panic("the process cannot read its own usage")
	}
	return Usage{CPU: used, WakeUps: int64(r.Nvcsw)}
}
