package hwt

import "time"

// Stats is a snapshot of a timer's counts since New. Fields that describe a worker are
// zero on an engine without one.
//
// The counts are read one after another while the timer runs. Pending, Intake and
// ExecutorWaiting are differences of counts; each is in the range that [Engine] states for
// Pending. Always,
//
//	Accepted = Pending + Expired + Cancelled + Unprocessed
//
// All counts except Pending, Intake and ExecutorWaiting only grow, so rates are
// differences of two snapshots. There is one exception: on an engine with a worker,
// Accepted and Pending include a NewTimeout that fails with [ErrStopped] until it returns.
//
// With several workers, Lag, MaxLag, IntakeAge and the slowest task are maxima over the
// workers, and the other fields are sums.
type Stats struct {
	Pending     int64 // timeouts that have not ended
	Accepted    int64 // timeouts that NewTimeout returned
	Expired     int64 // timeouts that expired
	Cancelled   int64 // timeouts that Cancel ended
	Unprocessed int64 // timeouts that Stop returned

	// Resets is the number of Reset calls that set a deadline. An engine with a worker
	// samples one Reset in 64 and estimates the number, so that Reset stays cheap.
	Resets int64

	Rejected         int64 // calls of NewTimeout and NewTimeouts rejected by the pending limit
	Failed           int64 // tasks that returned an error, and users' code that ended its goroutine
	Panics           int64 // tasks, callbacks and calls of Execute that panicked
	ExecutorRejected int64 // tasks and callbacks that the executor rejected, and that never ran
	SlowTasks        int64 // tasks that held the worker past the slow-task threshold

	Ticks         int64 // ticks that the worker processed; a sleeping worker skips empty ticks
	Wakeups       int64 // times the worker woke from sleep
	DeferredTicks int64 // ticks that began before all new timeouts were in the wheel

	// Lateness counts the lateness of tasks at the start or at the hand-over to the
	// executor. The Count is Expired. A worker reads the clock once per batch of up to 64
	// tasks, and per task while tasks are slow.
	Lateness Histogram

	Lag    time.Duration // time that the worker is behind the clock
	MaxLag time.Duration // maximum of Lag in the last minute

	// Intake is the number of new, cancelled, and reset timeouts that the worker has not yet
	// moved from the queues, the intake, to the wheel. IntakeAge is the time since the
	// intake was last empty; 0 if empty.
	Intake    int64
	IntakeAge time.Duration

	// ExecutorWaiting is the number of tasks that the executor has received, or is
	// receiving, and has not started.
	ExecutorWaiting int64

	// TaskTime is the total time that the worker spent running tasks and callbacks, or
	// handing them to the executor.
	TaskTime time.Duration

	// SlowestTask is the name of the slowest task in the last minute, and SlowestTaskTime the
	// duration so far. Both come from samples and from the slow-task watchdog, which rarely see
	// tasks of less than 100 µs.
	SlowestTask     string
	SlowestTaskTime time.Duration
}
