package hwt

import "time"

// Stats is a snapshot of what a timer has done since it was made. Every engine
// has a Stats method that returns one. Figures of a worker stay zero on an engine
// without one.
//
// The counts are read one after another while the timer goes on, so they add
// up exactly only when nothing is in flight. Then
//
//	Accepted = Pending + Expired + Cancelled + Unprocessed
//
// All counts but Pending, Intake and ExecutorWaiting only grow, so rates are
// differences of two snapshots. With more than one worker, Lag, MaxLag, IntakeAge
// and the slowest task are the greatest of any worker, and the rest are sums.
type Stats struct {
	Pending     int64 // timeouts that have not ended
	Accepted    int64 // timeouts that NewTimeout returned
	Expired     int64 // timeouts that expired
	Cancelled   int64 // timeouts that Cancel ended
	Unprocessed int64 // timeouts that Stop returned

	// Resets is how many calls of Reset set a deadline. An engine with a worker
	// counts one in 64, for all of them, so that Reset stays cheap.
	Resets int64

	Rejected         int64 // NewTimeout calls refused by the limit of pending timeouts
	Failed           int64 // tasks that returned an error or ended their goroutine
	Panics           int64 // tasks and callbacks that panicked
	ExecutorRejected int64 // tasks that the executor refused, which never ran
	SlowTasks        int64 // tasks that held the worker past the slow-task threshold

	Ticks         int64 // ticks that the worker processed; empty ones it slept over do not count
	Wakeups       int64 // times the worker woke from sleep
	DeferredTicks int64 // ticks that began before the intake was drained

	// Lateness counts how long after their deadlines tasks were started, or handed to
	// the executor. Its Count is Expired. A worker reads the clock for up to 64 tasks
	// at once, and for each task while they are slow.
	Lateness Histogram

	Lag    time.Duration // how far the worker is behind now
	MaxLag time.Duration // the most that the worker was behind real time in the last minute

	Intake    int64         // new, cancelled and reset timeouts that the worker has yet to look at
	IntakeAge time.Duration // how long ago the intake was empty the last time; 0 if it is empty

	// ExecutorWaiting is how many tasks the executor has accepted and not yet begun.
	ExecutorWaiting int64

	// TaskTime is how long the worker ran tasks and callbacks, or handed them to the
	// executor, altogether.
	TaskTime time.Duration

	// SlowestTask is the slowest task seen in the last minute, by name, and
	// SlowestTaskTime how long it took, or takes if it still runs. They come from
	// samples, and from the watch for slow tasks: tasks of less than 100 µs are
	// mostly not seen.
	SlowestTask     string
	SlowestTaskTime time.Duration
}
