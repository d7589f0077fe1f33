package clock

// Stats is a snapshot of a clock's counts.
type Stats struct {
	Failures       int64 // functions and Schedules that panicked or ended their goroutine
	FallbackTimers int64 // timers of Go's that replaced a timeout, which the timer refused
}

// Stats returns a snapshot of the counts. It takes constant time.
func (c *Clock) Stats() Stats {
	return Stats{Failures: c.failures.Load(), FallbackTimers: c.fallbackTimers.Load()}
}
