// Package cputime measures the processor time of this process. Timers are compared
// by it, because it includes the worker, the garbage collector and the kernel.
package cputime

import "time"

// Usage is the processor time of all threads together.
type Usage struct {
	User   time.Duration // in the program
	System time.Duration // in the operating system, for the program
}

// Total returns the sum.
func (u Usage) Total() time.Duration { return u.User + u.System }

// Sub returns what was used since earlier.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{User: u.User - earlier.User, System: u.System - earlier.System}
}

// Process returns the total of [Now].
func Process() (used time.Duration, ok bool) {
	now, ok := Now()
	return now.Total(), ok
}
