// Package proc reads what the operating system counts for this process: its CPU time,
// how often it woke up, and its memory.
package proc

import "time"

// Usage is what this process has used so far.
type Usage struct {
	CPU     time.Duration // of all threads, in the program and in the kernel
	WakeUps int64         // voluntary context switches
}

// Sub returns what was used since earlier.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{CPU: u.CPU - earlier.CPU, WakeUps: u.WakeUps - earlier.WakeUps}
}
