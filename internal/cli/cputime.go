package cli

import "time"

// CPU is the processor time of all threads of a process. It includes a timer's
// worker, the garbage collector and the kernel, so timers are compared by it.
type CPU struct {
	User   time.Duration // in the program
	System time.Duration // in the operating system on the program's behalf
}

// Total returns the sum of both.
func (c CPU) Total() time.Duration { return c.User + c.System }

// Sub returns the time used since earlier.
func (c CPU) Sub(earlier CPU) CPU {
	return CPU{User: c.User - earlier.User, System: c.System - earlier.System}
}

// CPUTime returns the total of [CPUNow].
func CPUTime() (used time.Duration, ok bool) {
	now, ok := CPUNow()
	return now.Total(), ok
}
