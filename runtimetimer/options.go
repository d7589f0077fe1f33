package runtimetimer

import (
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// defaultStopTimeout is the default of Options.StopTimeout.
const defaultStopTimeout = 5 * time.Second

// Options are the settings of a [Timer]. The zero value of each field is its
// default.
type Options struct {
	// MaxPendingTimeouts is the largest number of pending timeouts. NewTimeout rejects
	// more with a *[hwt.PendingLimitError]. The default, 0, means no limit.
	MaxPendingTimeouts int64

	// Executor runs the tasks and the callbacks of hwt.CancelledTask. Execute is called on
	// a new goroutine for each timeout, so Execute may block. If Executor is nil, tasks run
	// on that goroutine. The timer does not shut down the executor.
	Executor hwt.Executor

	// Logger receives the errors of tasks if there is no ErrorHandler. nil is the
	// default: slog.Default at the time of New.
	Logger *slog.Logger

	// ErrorHandler is called with each error that a task returns, a *[hwt.PanicError] for a
	// task that panics, [hwt.ErrGoexit] for a task that ends the goroutine, and the executor's
	// rejections. ErrorHandler runs on the goroutine on which the error occurred, and must be
	// safe for concurrent use. nil is the default: errors are logged.
	ErrorHandler func(timeout hwt.Timeout, err error)

	// Name identifies the timer in the log and in String. "" is the default:
	// "runtimetimer".
	Name string

	// StopTimeout is the longest wait of Stop for running tasks. 0 is the default, 5 s.
	// If it is negative, Stop does not wait.
	StopTimeout time.Duration

	// RecordCallers records the line that scheduled each timeout, for
	// [hwt.CallerOf]. NewTimeout then walks the stack. On 64-bit machines, timeouts
	// take no more memory. The default is false.
	RecordCallers bool

	// LabelTasks sets pprof labels while a task runs: "hwt", the timer's name, and
	// "hwt_task", the task's name in the log. Profiles then show the CPU time per
	// task. Goroutines that a task starts inherit the labels. After a task, an
	// executor's goroutine has no labels. The default is false.
	LabelTasks bool
}

// runner returns the runner of a timer with these options.
func (o *Options) runner() (*enginekit.Runner, error) {
	r := &enginekit.Runner{Name: o.Name, Executor: o.Executor, Logger: o.Logger, OnError: o.ErrorHandler}
	if err := check.NotNegative("runtimetimer", "MaxPendingTimeouts", o.MaxPendingTimeouts, "no limit"); err != nil {
		return nil, err
	}
	err := r.Complete("runtimetimer")
	if o.LabelTasks {
		r.Labels = enginekit.NewLabels(r.Name, false)
	}
	return r, err
}
