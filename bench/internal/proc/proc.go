// Package proc reads the operating system's counters of this process: its CPU time,
// how often it woke up, and its memory.
package proc

import "time"

// Usage is the resource usage of this process so far.
type Usage struct {
	CPU     time.Duration // of all threads, in the program and in the kernel
	WakeUps int64         // voluntary context switches
}

// Sub returns the usage since earlier.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{CPU: u.CPU - earlier.CPU, WakeUps: u.WakeUps - earlier.WakeUps}
}
