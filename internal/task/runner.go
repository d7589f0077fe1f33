// Package task runs the users' code for every engine: inline or on an
// executor, in isolation, with everything that goes wrong reported.
package task

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// Func is the task of AfterFunc.
type Func func()

// Run calls f.
func (f Func) Run(hwt.Timeout) error {
	f()
	return nil
}

// IsNil reports whether task is nil, or one of the function types holding nil.
func IsNil(task hwt.TimerTask) bool {
	switch f := task.(type) {
	case nil:
		return true
	case hwt.TaskFunc:
		return f == nil
	case Func:
		return f == nil
	}
	return false
}

// WantsCancelled reports whether task asks to be told of its cancellation.
func WantsCancelled(task hwt.TimerTask) bool {
	switch task.(type) {
	case hwt.TaskFunc, Func:
		return false // the common cases, settled by a comparison
	}
	_, ok := task.(hwt.CancelledTask)
	return ok
}

// Runner runs tasks and their cancellation callbacks. Its fields are set before
// the first use and immutable after; its methods are safe for concurrent use.
type Runner struct {
	Name     string                   // names the timer in the log
	Executor hwt.Executor             // nil: run inline
	Logger   *slog.Logger             // never nil
	OnError  func(hwt.Timeout, error) // nil: log the error

	failed           atomic.Int64
	panics           atomic.Int64
	executorRejected atomic.Int64
}

// Run runs the task of an expired timeout. Whatever the task does, Run returns
// normally, but for runtime.Goexit: that is reported, and then ends the calling
// goroutine as it must.
func (r *Runner) Run(timeout hwt.Timeout, task hwt.TimerTask) {
	if r.Executor != nil {
		r.submit(timeout, func() { r.run(timeout, task) })
		return
	}
	r.run(timeout, task)
}

// Cancelled tells the task that its timeout was cancelled, if it wants to know.
// It isolates like Run.
func (r *Runner) Cancelled(timeout hwt.Timeout, task hwt.TimerTask) {
	if !WantsCancelled(task) {
		return
	}
	told := task.(hwt.CancelledTask)
	if r.Executor != nil {
		r.submit(timeout, func() { r.tell(timeout, told) })
		return
	}
	r.tell(timeout, told)
}

// AddTo adds the runner's counts to stats.
func (r *Runner) AddTo(stats *hwt.Stats) {
	stats.Failed += r.failed.Load()
	stats.Panics += r.panics.Load()
	stats.ExecutorRejected += r.executorRejected.Load()
}

func (r *Runner) run(timeout hwt.Timeout, task hwt.TimerTask) {
	returned := false
	defer func() {
		if !returned {
			r.broken(timeout, recover())
		}
	}()
	err := task.Run(timeout)
	returned = true
	if err != nil {
		r.failed.Add(1)
		r.report(timeout, err)
	}
}

func (r *Runner) tell(timeout hwt.Timeout, task hwt.CancelledTask) {
	returned := false
	defer func() {
		if !returned {
			r.broken(timeout, recover())
		}
	}()
	task.Cancelled(timeout)
	returned = true
}

func (r *Runner) submit(timeout hwt.Timeout, task func()) {
	returned := false
	defer func() {
		if !returned {
			r.broken(timeout, recover())
		}
	}()
	err := r.Executor.Execute(task)
	returned = true
	if err != nil {
		r.executorRejected.Add(1)
		r.report(timeout, fmt.Errorf("hwt: executor refused the task: %w", err))
	}
}

// broken reports user code that did not return: recovered is what it panicked
// with, or nil if it ended its goroutine (panic(nil) arrives as a value since
// Go 1.21).
func (r *Runner) broken(timeout hwt.Timeout, recovered any) {
	if recovered == nil {
		r.failed.Add(1)
		r.report(timeout, hwt.ErrGoexit)
		return
	}
	r.panics.Add(1)
	r.report(timeout, &hwt.PanicError{Value: recovered, Stack: debug.Stack()})
}

// report hands err to the error handler, or to the log if there is none or it
// panics itself.
func (r *Runner) report(timeout hwt.Timeout, err error) {
	if r.OnError == nil {
		r.log(timeout, err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.log(timeout, err)
			r.log(timeout, fmt.Errorf("hwt: error handler panicked: %v", v))
		}
	}()
	r.OnError(timeout, err)
}

// Warn logs, and survives a log handler that panics.
func (r *Runner) Warn(message string, attrs ...any) { r.write(slog.LevelWarn, message, attrs) }

func (r *Runner) write(level slog.Level, message string, attrs []any) {
	defer func() { _ = recover() }() // there is nobody left to tell
	r.Logger.With("timer", r.Name).Log(context.Background(), level, message, attrs...)
}

func (r *Runner) log(timeout hwt.Timeout, err error) {
	attrs := []any{"task", fmt.Sprintf("%T", timeout.Task()), "error", err}
	// Not errors.As: a typed nil as an error may well panic when it is unwrapped.
	if broken, ok := err.(*hwt.PanicError); ok && broken != nil {
		attrs = append(attrs, "stack", string(broken.Stack))
	}
	r.write(slog.LevelError, "hwt: task failed", attrs)
}
