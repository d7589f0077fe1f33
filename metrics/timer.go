package metrics

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
)

// Timer returns the metrics of a timer: of an engine, or of one that wraps it and
// passes its Stats on.
func Timer(timer interface{ Stats() hwt.Stats }) Source {
	return source[hwt.Stats]{timer.Stats, timerMetrics}
}

type stats = hwt.Stats

var timerMetrics = []metric[stats]{
	gauge("timer.pending", "Timeouts that have not ended", func(s stats) int64 { return s.Pending }),
	counter("timer.accepted", "Timeouts that were scheduled", func(s stats) int64 { return s.Accepted }),
	counter("timer.expired", "Timeouts that expired", func(s stats) int64 { return s.Expired }),
	counter("timer.cancelled", "Timeouts that were cancelled", func(s stats) int64 { return s.Cancelled }),
	counter("timer.unprocessed", "Timeouts that were pending when the timer was stopped", func(s stats) int64 { return s.Unprocessed }),
	counter("timer.resets", "Resets that set a deadline; on engines with a worker estimated from one in 64", func(s stats) int64 { return s.Resets }),
	counter("timer.rejected", "Timeouts refused by the limit of pending timeouts", func(s stats) int64 { return s.Rejected }),
	counter("timer.tasks_failed", "Tasks that returned an error or ended their goroutine", func(s stats) int64 { return s.Failed }),
	counter("timer.panics", "Tasks and callbacks that panicked", func(s stats) int64 { return s.Panics }),
	counter("timer.executor_rejected", "Tasks that the executor refused, which never ran", func(s stats) int64 { return s.ExecutorRejected }),
	counter("timer.slow_tasks", "Tasks that held the worker past the slow-task threshold", func(s stats) int64 { return s.SlowTasks }),
	counter("timer.ticks", "Ticks that the worker processed", func(s stats) int64 { return s.Ticks }),
	counter("timer.wakeups", "Times the worker woke from sleep", func(s stats) int64 { return s.Wakeups }),
	counter("timer.deferred_ticks", "Ticks that left new timeouts waiting for the next", func(s stats) int64 { return s.DeferredTicks }),
	{Desc{"timer.lateness", "How long after their deadlines tasks were started", "seconds", Histogram}, lateness},
	seconds("timer.lag", "How far the worker is behind real time", func(s stats) time.Duration { return s.Lag }),
	seconds("timer.max_lag", "The most that the worker was behind real time in the last minute", func(s stats) time.Duration { return s.MaxLag }),
	gauge("timer.intake", "Timeouts that the worker has yet to look at", func(s stats) int64 { return s.Intake }),
	seconds("timer.intake_age", "How long ago the intake was empty the last time", func(s stats) time.Duration { return s.IntakeAge }),
	gauge("timer.executor_waiting", "Tasks that the executor has accepted and not yet begun", func(s stats) int64 { return s.ExecutorWaiting }),
	{Desc{"timer.task_time", "How long the worker ran tasks and callbacks", "seconds", Counter}, taskTime},
	seconds("timer.slowest_task", "How long the slowest task seen in the last minute took", func(s stats) time.Duration { return s.SlowestTaskTime }),
}

func taskTime(s stats) Value { return Value{Number: s.TaskTime.Seconds()} }

func lateness(s stats) Value {
	h := &s.Lateness
	v := Value{Number: h.Sum.Seconds(), Buckets: make([]Bucket, len(h.Counts))}
	for i, n := range h.Counts {
		v.Buckets[i] = Bucket{Bound: h.Bound(i).Seconds(), Count: uint64(n)}
	}
	v.Buckets[len(h.Counts)-1].Bound = math.Inf(1)
	return v
}
