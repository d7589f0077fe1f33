package runtimetimer

import (
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// DefaultStopTimeout is how long Stop waits for tasks that are running.
const DefaultStopTimeout = 5 * time.Second

// Options are the settings of a [Timer]. The zero value of each field is its
// default.
type Options struct {
	// MaxPendingTimeouts is how many timeouts may be pending at once. NewTimeout
	// refuses more with a *[hwt.PendingLimitError]. 0, the default, or less means
	// no limit.
	MaxPendingTimeouts int64

	// Executor runs the tasks and the callbacks of hwt.CancelledTask. Its Execute
	// is called on a goroutine of the timeout's own, so it may block. By default,
	// nil, tasks run on that goroutine.
	Executor hwt.Executor

	// Logger receives the errors of tasks if there is no ErrorHandler. nil is the
	// default: slog.Default at the time of New.
	Logger *slog.Logger

	// ErrorHandler is called with each error that a task returns, a
	// *[hwt.PanicError] for a task that panics, [hwt.ErrGoexit] for one that ends
	// its goroutine, and the executor's refusals. It runs on the goroutine on
	// which the error occurred, several at once. nil is the default: errors are
	// logged.
	ErrorHandler func(timeout hwt.Timeout, err error)

	// Name identifies the timer in the log and in String. "" is the default:
	// "runtimetimer".
	Name string

	// StopTimeout is how long Stop waits for the tasks that are running. 0 is the
	// default, 5 s. If negative, Stop does not wait.
	StopTimeout time.Duration

	// RecordCallers keeps, for each pending timeout, where it was scheduled: see
	// [hwt.CallerOf]. NewTimeout then walks the stack. A timeout takes no more
	// memory on 64-bit machines. false is the default.
	RecordCallers bool

	// LabelTasks sets pprof labels while a task runs: "hwt", the timer's name, and
	// "hwt_task", the task as the log calls it. So a profile shows which tasks use
	// the CPU. Goroutines that a task starts inherit the labels. After the task, an
	// executor's goroutine has no labels. false is the default.
	LabelTasks bool
}

// runner returns what runs the tasks of a timer with these options.
func (o *Options) runner() (*enginekit.Runner, error) {
	r := &enginekit.Runner{Name: o.Name, Executor: o.Executor, Logger: o.Logger, OnError: o.ErrorHandler}
	err := r.Complete("runtimetimer")
	if o.LabelTasks {
		r.Labels = enginekit.NewLabels(r.Name, false)
	}
	return r, err
}
