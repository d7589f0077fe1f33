package hierarchical

import (
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
)

// The defaults and limits of [Options]. A level of one bucket would reach no further than
// the one below.
const (
	defaultTickDuration  = time.Millisecond
	defaultTicksPerWheel = 64
	minTicksPerWheel     = 2
	maxTicksPerWheel     = 1 << 20
)

// Options are the settings of a [Timer]. The zero value of each field is the default.
type Options struct {
	// TickDuration is the tick of the lowest level. Under load, a task starts up to one
	// tick late while the worker keeps up. 0 is the default, 1 ms. The least is 1 ms.
	TickDuration time.Duration

	// TicksPerWheel is the number of buckets per level, from 2 to 2^20. A
	// bucket spans all ticks of the level below. The number is not rounded. 0 is the
	// default, 64. Small wheels need more levels, large ones more buckets per level;
	// between 16 and 512 the difference is small.
	TicksPerWheel int

	// Workers is the number of worker goroutines, from 1 to 1024. 0 is the default, 1. Each
	// worker has a wheel, and the timer spreads timeouts over them evenly, so several
	// processors expire timeouts of the same tick. A timeout stays with one worker. Tasks
	// without an Executor then run on that many goroutines, and no order holds between two
	// timeouts. Set more than one only if one worker cannot keep up, as with millions of
	// timeouts due within a second, and no more than the number of processors. For slow
	// tasks, set an Executor instead.
	Workers int

	// MaxPendingTimeouts is the largest number of pending timeouts. NewTimeout rejects more
	// with a *[hwt.PendingLimitError]. The default, 0, means no limit. With a limit, all
	// callers update one shared counter. The counter costs some speed on many processors.
	//
	// A timeout gives up the place before Cancel returns, or when the task begins; Pending
	// may fall slightly earlier. To bound memory, NewTimeout also rejects while too many
	// cancelled timeouts wait for the worker: as many as the limit, but at least 4,096.
	MaxPendingTimeouts int64

	// Executor runs the tasks and the callbacks of [hwt.CancelledTask]. If Executor is nil,
	// tasks and callbacks run on the workers, one at a time on each, and should return
	// quickly. The timer does not shut down the executor.
	Executor hwt.Executor

	// Logger receives warnings, and the errors of tasks if there is no
	// ErrorHandler. nil is the default: slog.Default at the time of New.
	Logger *slog.Logger

	// ErrorHandler is called with each error that a task returns, a *[hwt.PanicError] for a
	// task that panics, [hwt.ErrGoexit] for a task that ends the goroutine, and the executor's
	// rejections. ErrorHandler runs on the goroutine on which the error occurred, so with an
	// Executor or several workers the calls may be concurrent. nil is the default: errors are
	// logged.
	ErrorHandler func(timeout hwt.Timeout, err error)

	// Name identifies the timer in the log, in String, and as the pprof label "hwt" of the
	// worker goroutines. "" is the default: "hierarchical".
	Name string

	// SlowTaskThreshold is the longest time that a task may occupy the worker. A task that
	// takes longer is counted in Stats.SlowTasks and logged by name while still running;
	// each worker logs at most one per minute. The time that the worker waits for a
	// processor does not count. 0 is the default: ten ticks, but at least 100 ms. A
	// negative value turns the detection off.
	//
	// While the worker is late, NewTimeout may sleep, for up to 10 ms per 128 calls, so that
	// callers do not outrun the worker. A lock held by the caller stays locked that long.
	SlowTaskThreshold time.Duration

	// StopTimeout is the longest wait of Stop for a task that runs on the worker. 0 is the
	// default, 5 s. A negative value means no wait.
	StopTimeout time.Duration

	// RecordCallers records the line that scheduled each timeout, for [hwt.CallerOf].
	// NewTimeout then walks the stack, and a timeout takes 64 bytes instead of 48. The
	// default is false.
	RecordCallers bool

	// LabelTasks sets pprof labels while a task runs: "hwt", the timer's name, and
	// "hwt_task", the task's name in the log. Profiles then show the CPU time per task.
	// Goroutines that a task starts inherit the labels. After a task, an executor's
	// goroutine has no labels. The default is false.
	LabelTasks bool

	// DisableLeakDetection turns off the report of a timer that is garbage-collected
	// without Stop. The report names the line that created the timer; package leak
	// describes the levels and the destination of reports. Detection costs O(1) time in New
	// and nothing in NewTimeout.
	//
	// With or without detection, the workers of an unreachable timer end once nothing is
	// pending. An Executor or ErrorHandler that refers to the timer keeps it reachable.
	DisableLeakDetection bool
}

// complete returns the options with the defaults filled in, or an error.
func complete(options *Options) (engine.Options, error) {
	if options == nil {
		options = new(Options)
	}
	return engine.Options(*options).Complete(engine.Limits{
		Package:          "hierarchical",
		TickDuration:     defaultTickDuration,
		TicksPerWheel:    defaultTicksPerWheel,
		MinTicksPerWheel: minTicksPerWheel,
		MaxTicksPerWheel: maxTicksPerWheel,
	})
}
