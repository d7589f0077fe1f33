package hashedwheel

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/engine"
)

// The defaults and limits of [Options] are Netty's. More buckets would not fit into memory
// where int has 32 bits.
const (
	defaultTickDuration  = 100 * time.Millisecond
	defaultTicksPerWheel = 512
	maxTicksPerWheel     = min(1<<30, math.MaxInt/32+1)
)

// Options are the settings of a [Timer]. The zero value of each field is its
// default.
type Options struct {
	// TickDuration is the interval between two ticks. Under load, a task starts up to one
	// tick late while the worker keeps up. 0 is the default, 100 ms. It is at least 1 ms. The product
	// with TicksPerWheel must stay below 292 years.
	TickDuration time.Duration

	// TicksPerWheel is the number of buckets, rounded up to a power of two: from 1 to
	// 2^30, or 2^26 where int has 32 bits. 0 is the default, 512. An empty bucket takes
	// 6 bytes. A wheel works best if one rotation, TickDuration times TicksPerWheel, is
	// no shorter than the usual delay. Longer delays are fine, including many rotations.
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
	// callers update one shared counter. This costs some speed on many processors.
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

	// Name identifies the timer in the log, in String, and as the pprof label
	// "hwt" of its worker goroutine. "" is the default: "hashedwheel".
	Name string

	// SlowTaskThreshold is the longest time that a task may occupy the worker. A task that
	// takes longer is counted in Stats.SlowTasks and logged by name while still running;
	// each worker logs at most one per minute. The time that the worker waits for a
	// processor does not count. 0 is the default: ten ticks, but at least 100 ms. A
	// negative value turns the detection off.
	//
	// While the worker is late, NewTimeout may sleep, for up to 10 ms per 128 calls, so that
	// callers do not outrun the worker. A lock that its caller holds stays locked that long.
	SlowTaskThreshold time.Duration

	// StopTimeout is the longest wait of Stop for a task that runs on the worker. 0 is
	// the default, 5 s. If it is negative, Stop does not wait.
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
	// describes its levels and destination. Detection costs O(1) time in New and nothing
	// in NewTimeout.
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
	o, err := engine.Options(*options).Complete(engine.Limits{
		Package:          "hashedwheel",
		TickDuration:     defaultTickDuration,
		TicksPerWheel:    defaultTicksPerWheel,
		MinTicksPerWheel: 1,
		MaxTicksPerWheel: maxTicksPerWheel,
	})
	if err != nil {
		return o, err
	}
	o.TicksPerWheel = 1 << bits.Len(uint(o.TicksPerWheel-1))
	if limit := math.MaxInt64 / time.Duration(o.TicksPerWheel); o.TickDuration >= limit {
		return o, check.Invalid("hashedwheel", "TickDuration", o.TickDuration,
			fmt.Sprintf("less than %v, so that %d ticks are less than 292 years", limit, o.TicksPerWheel))
	}
	return o, nil
}
