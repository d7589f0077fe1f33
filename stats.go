package hwt

import "time"

// Stats is a snapshot of what a timer has done since it was made. Every engine
// has a Stats method that returns one; a figure that an engine has no notion of
// stays zero.
//
// The counts are read one after another while the timer goes on, so they add
// up exactly only when nothing is in flight. Then
//
//	Accepted = Pending + Expired + Cancelled + Unprocessed
type Stats struct {
	Pending     int64 // timeouts that have not ended
	Accepted    int64 // timeouts that NewTimeout returned
	Expired     int64 // timeouts that came due
	Cancelled   int64 // timeouts that Cancel ended
	Unprocessed int64 // timeouts that Stop returned

	Rejected         int64 // NewTimeout calls refused by the limit of pending timeouts
	Failed           int64 // tasks that returned an error or ended their goroutine
	Panics           int64 // tasks and callbacks that panicked
	ExecutorRejected int64 // tasks that the executor refused, which never ran
	SlowTasks        int64 // tasks that held the worker past the slow-task threshold

	Ticks    int64         // ticks that the worker processed; empty ones it slept over do not count
	WakeUps  int64         // times the worker woke from sleep
	LeftOver int64         // ticks that left new timeouts waiting for the next: by the transfer cap, or for want of time
	MaxLag   time.Duration // the furthest that the worker trailed real time
}
