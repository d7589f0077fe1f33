package metrics

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
)

// Timer returns the metrics of an engine, or of a wrapper that forwards its Stats.
func Timer(timer interface{ Stats() hwt.Stats }) Source {
	return newSource(timer, timerMetrics)
}

type stats = hwt.Stats

var timerMetrics = []metric[stats]{
	gauge("timer.pending", "{timeout}", "Pending timeouts", func(s stats) int64 { return s.Pending }),
	counter("timer.accepted", "{timeout}", "Timeouts scheduled", func(s stats) int64 { return s.Accepted }),
	counter("timer.expired", "{timeout}", "Timeouts that expired", func(s stats) int64 { return s.Expired }),
	counter("timer.cancelled", "{timeout}", "Timeouts cancelled", func(s stats) int64 { return s.Cancelled }),
	counter("timer.unprocessed", "{timeout}", "Timeouts that were pending when the timer was stopped", func(s stats) int64 { return s.Unprocessed }),
	counter("timer.resets", "{reset}", "Resets that set a deadline, estimated from one in 64 on engines with a worker", func(s stats) int64 { return s.Resets }),
	counter("timer.rejected", "{call}", "Calls of NewTimeout and NewTimeouts rejected by the pending limit", func(s stats) int64 { return s.Rejected }),
	counter("timer.tasks_failed", "{task}", "Tasks that returned an error, and code of the user that ended its goroutine", func(s stats) int64 { return s.Failed }),
	counter("timer.panics", "{panic}", "Tasks, callbacks, and calls of Execute that panicked", func(s stats) int64 { return s.Panics }),
	counter("timer.executor_rejected", "{task}", "Tasks rejected by the executor, which never ran", func(s stats) int64 { return s.ExecutorRejected }),
	counter("timer.slow_tasks", "{task}", "Tasks that held the worker past the slow-task threshold", func(s stats) int64 { return s.SlowTasks }),
	counter("timer.ticks", "{tick}", "Ticks processed by the worker", func(s stats) int64 { return s.Ticks }),
	counter("timer.wakeups", "{wakeup}", "Times the worker woke from sleep", func(s stats) int64 { return s.Wakeups }),
	counter("timer.deferred_ticks", "{tick}", "Ticks that began before the intake was drained", func(s stats) int64 { return s.DeferredTicks }),
	{Desc{"timer.lateness", "Time from a deadline to the start of its task", "seconds", Histogram}, lateness},
	seconds("timer.lag", "Time by which the worker trails real time", func(s stats) time.Duration { return s.Lag }),
	seconds("timer.max_lag", "Greatest lag of the worker in the last minute", func(s stats) time.Duration { return s.MaxLag }),
	gauge("timer.intake", "{timeout}", "New, cancelled, and reset timeouts in the intake", func(s stats) int64 { return s.Intake }),
	seconds("timer.intake_age", "Time since the intake was last empty", func(s stats) time.Duration { return s.IntakeAge }),
	gauge("timer.executor_waiting", "{task}", "Tasks accepted by the executor and not started", func(s stats) int64 { return s.ExecutorWaiting }),
	{Desc{"timer.task_time", "Time that the worker spent in tasks and callbacks", "seconds", Counter}, taskTime},
	seconds("timer.slowest_task", "Duration of the slowest task seen in the last minute", func(s stats) time.Duration { return s.SlowestTaskTime }),
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
