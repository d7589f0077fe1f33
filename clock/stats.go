package clock

// Stats is a snapshot of a clock's counts.
type Stats struct {
	Failures       int64 // Calls of functions and Schedules that panicked, ended their goroutine or returned an error.
	FallbackTimers int64 // Runtime timers that replaced timeouts rejected by the timer.
}

// Stats returns a snapshot of the counts. It takes constant time.
func (c *Clock) Stats() Stats {
	return Stats{Failures: c.failures.Load(), FallbackTimers: c.fallbackTimers.Load()}
}
