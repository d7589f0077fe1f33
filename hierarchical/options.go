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

// Options are the settings of a [Timer]. The zero value of each field is its
// default.
type Options struct {
	// TickDuration is the tick of the lowest level, and the largest lateness by design.
	// 0 is the default, 1 ms. A duration below 1 ms is raised to 1 ms, with a warning
	// in the log.
	TickDuration time.Duration

	// TicksPerWheel is the number of buckets per level, from 2 to 2^20. A
	// bucket spans all ticks of the level below. The number is not rounded. 0 is the
	// default, 64. Small wheels need more levels, large ones more buckets per level;
	// between 16 and 512 the difference is small.
	TicksPerWheel int

	// Workers is the number of worker goroutines, from 1 to 1024. 0 is the
	// default, 1. Each worker has a wheel, and the timer spreads timeouts over them
	// evenly, so several processors expire timeouts of the same tick. A timeout stays
	// with its worker. Tasks without an Executor then run on that many goroutines, and
	// no order holds between two timeouts. Set more than one only if a worker cannot
	// keep up, such as with millions of timeouts due within a second, and at most the
	// number of processors. Tasks that take long need an Executor instead.
	Workers int

	// MaxPendingTimeouts is the largest number of pending timeouts. NewTimeout rejects
	// more with a *[hwt.PendingLimitError]. 0, the default, or less means no limit.
	// With a limit, all callers update one shared counter, which costs some speed on
	// many processors.
	//
	// The place of a timeout is free again once its Cancel has returned, or when its
	// task begins. Pending may fall a moment earlier. The timer may also hold cancelled
	// timeouts. Once these are as many as the limit, or 4,096 if that is more, it rejects
	// new timeouts until the worker has notified the cancelled [hwt.CancelledTask]s.
	MaxPendingTimeouts int64

	// Executor runs the tasks. By default, nil, they run on the timer's worker
	// goroutine, one after another, and so should return quickly. The timer does
	// not shut the executor down.
	Executor hwt.Executor

	// Logger receives warnings, and the errors of tasks if there is no
	// ErrorHandler. nil is the default: slog.Default at the time of New.
	Logger *slog.Logger

	// ErrorHandler is called with each error that a task returns, a
	// *[hwt.PanicError] for a task that panics, [hwt.ErrGoexit] for one that ends
	// its goroutine, and the executor's rejections. It runs on the goroutine on
	// which the error occurred, so with an Executor it may run concurrently. nil
	// is the default: errors are logged.
	ErrorHandler func(timeout hwt.Timeout, err error)

	// Name identifies the timer in the log, in String, and as the pprof label
	// "hwt" of its worker goroutine. "" is the default: "hierarchical".
	Name string

	// SlowTaskThreshold is the time for which a task may hold the worker. A slower one
	// counts in Stats.SlowTasks and is logged by name while it still runs, at most once
	// per minute. 0 is the default, ten ticks but at least 100 ms. A negative value
	// turns this off. A task that merely waits for a processor is not slow.
	SlowTaskThreshold time.Duration

	// StopTimeout is the longest wait of Stop for a task that runs on the worker. 0 is
	// the default, 5 s. If it is negative, Stop does not wait.
	StopTimeout time.Duration

	// RecordCallers keeps, for each pending timeout, where it was scheduled: see
	// [hwt.CallerOf]. NewTimeout then walks the stack, and a timeout takes 64 bytes
	// rather than 48. false is the default.
	RecordCallers bool

	// LabelTasks sets pprof labels while a task runs: "hwt", the timer's name, and
	// "hwt_task", the task as the log calls it. A profile then shows which tasks use
	// the CPU. Goroutines that a task starts inherit the labels. After the task, an
	// executor's goroutine has no labels. false is the default.
	LabelTasks bool

	// DisableLeakDetection turns off the report of a timer that becomes garbage
	// without Stop. By default it is reported with the place that created it; see
	// package leak for the levels and for where reports go. That costs O(1) in
	// New and nothing in NewTimeout.
	//
	// Either way, its worker ends once nothing is pending and the garbage collector has
	// found the timer unreachable. An Executor or ErrorHandler that refers to the timer
	// keeps it alive.
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
