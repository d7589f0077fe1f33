package enginekit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Func is the task of AfterFunc.
type Func func()

// Run calls f.
func (f Func) Run(hwt.Timeout) error {
	f()
	return nil
}

// IsNilTask reports whether task is nil or a nil function.
func IsNilTask(task hwt.TimerTask) bool {
	switch f := task.(type) {
	case nil:
		return true
	case hwt.TaskFunc:
		return f == nil
	case hwt.ContextTaskFunc:
		return f == nil
	case Func:
		return f == nil
	}
	own, task := onExecutor(task)
	return own != nil && IsNilTask(task)
}

// WantsCancelled reports whether task is an hwt.CancelledTask.
func WantsCancelled(task hwt.TimerTask) bool {
	if isFunc(task) {
		return false
	}
	_, task = onExecutor(task)
	_, ok := task.(hwt.CancelledTask)
	return ok
}

// isFunc decides the common cases by comparisons.
func isFunc(task hwt.TimerTask) bool {
	switch task.(type) {
	case hwt.TaskFunc, hwt.ContextTaskFunc, Func:
		return true
	}
	return false
}

// onExecutor returns the parts of a task of [hwt.OnExecutor], or nil and task.
func onExecutor(task hwt.TimerTask) (hwt.Executor, hwt.TimerTask) {
	if !isFunc(task) {
		if t, ok := task.(interface {
			OnExecutor() (hwt.Executor, hwt.TimerTask)
		}); ok {
			return t.OnExecutor()
		}
	}
	return nil, task
}

// TaskKey identifies the tasks of one [TaskName]. It does not keep a task alive.
type TaskKey struct {
	of reflect.Type
	pc uintptr // of a function
}

// KeyOf returns the key of a task.
func KeyOf(task hwt.TimerTask) TaskKey {
	_, task = onExecutor(task)
	key := TaskKey{of: reflect.TypeOf(task)}
	if v := reflect.ValueOf(task); v.Kind() == reflect.Func {
		key.pc = v.Pointer()
	}
	return key
}

// Runner runs tasks and their cancellation callbacks, on the calling goroutine or on an
// executor. A Runner isolates and reports failures. The exported fields are set before the
// first use and immutable afterwards. All methods are safe for concurrent use.
type Runner struct {
	Name     string                   // names the timer in the log
	Executor hwt.Executor             // nil: run on the calling goroutine
	Logger   *slog.Logger             // never nil after Complete
	OnError  func(hwt.Timeout, error) // nil: log the error
	Labels   *Labels                  // nil: set no pprof labels while a task runs

	// Submitted returns the number of past and imminent calls of Run and Cancelled, for a
	// timer with an executor.
	Submitted func() int64

	// Running returns the number of tasks and callbacks on other goroutines than the
	// workers', for a timer without an executor. nil: zero.
	Running func() int64

	Contexts

	failed           atomic.Int64
	panics           atomic.Int64
	executorRejected atomic.Int64
	handed           atomic.Int64 // submissions, for a timer without an executor
	begun            atomic.Int64 // submissions that the executor started or rejected
	ended            atomic.Int64 // submissions of begun that have returned
	late             atomic.Int64 // callbacks of CallLate that have not returned
	waiters          waiters
}

// Complete validates the fields as pkg's Options and fills in the defaults: the name of
// the package and slog.Default.
func (r *Runner) Complete(pkg string) error {
	r.Name = cmp.Or(r.Name, pkg)
	r.Logger = cmp.Or(r.Logger, slog.Default())
	return check.NotTypedNil(pkg, "Executor", r.Executor, "nil for none, or an executor")
}

// Run runs the task of an expired timeout. It returns even if the task panics. If the
// task calls runtime.Goexit, Run reports that, and the calling goroutine ends.
func (r *Runner) Run(timeout hwt.Timeout, task hwt.TimerTask) {
	executor, task := r.executorOf(task)
	if executor == nil {
		r.run(timeout, task, r.Labels)
		return
	}
	labels := r.Labels.elsewhere()
	r.submit(executor, timeout, func() { r.run(timeout, task, labels) }, func(err error) error {
		return r.refused(timeout, task, err)
	})
}

// Cancelled calls the Cancelled method of a task, if there is one, after a cancellation of
// the timeout. Cancelled isolates the method as Run isolates a task.
func (r *Runner) Cancelled(timeout hwt.Timeout, task hwt.TimerTask) {
	if !WantsCancelled(task) {
		return
	}
	executor, task := r.executorOf(task)
	notified := task.(hwt.CancelledTask)
	if executor == nil {
		r.notify(timeout, notified, r.Labels)
		return
	}
	labels := r.Labels.elsewhere()
	r.submit(executor, timeout, func() { r.notify(timeout, notified, labels) }, func(err error) error { return err })
}

// executorOf returns the executor of task, or nil, and the task to run there.
func (r *Runner) executorOf(task hwt.TimerTask) (hwt.Executor, hwt.TimerTask) {
	if own, task := onExecutor(task); own != nil {
		return own, task
	}
	return r.Executor, task
}

// HandsOver reports whether task runs on an executor.
func (r *Runner) HandsOver(task hwt.TimerTask) bool {
	executor, _ := r.executorOf(task)
	return executor != nil
}

// Own returns how often the goroutine that runs or hands over task or its callback is
// outstanding: once for the hand-over, and once if the goroutine is not a worker's. A timer
// with an executor counts both as one.
func (r *Runner) Own(task hwt.TimerTask, worker bool) (own int64) {
	if r.HandsOver(task) {
		own++
	}
	if !worker && r.Executor == nil {
		own++
	}
	return own
}

// AddTo adds the runner's counts to stats.
func (r *Runner) AddTo(stats *hwt.Stats) {
	stats.Failed += r.failed.Load()
	stats.Panics += r.panics.Load()
	stats.ExecutorRejected += r.executorRejected.Load()
	stats.ExecutorWaiting += r.waiting()
}

func (r *Runner) run(timeout hwt.Timeout, task hwt.TimerTask, labels *Labels) {
	if labels != nil {
		labels.set(task)
		defer labels.reset()
	}
	returned := false
	defer func() {
		if !returned {
			r.broken(timeout, usercode.Failure(recover()))
		}
	}()
	err := task.Run(timeout)
	returned = true
	if err != nil {
		r.failed.Add(1)
		r.report(timeout, err)
	}
}

func (r *Runner) notify(timeout hwt.Timeout, task hwt.CancelledTask, labels *Labels) {
	if labels != nil {
		labels.set(task)
		defer labels.reset()
	}
	usercode.Run(func() { task.Cancelled(timeout) }, func(err error) { r.broken(timeout, err) })
}

// SubmitEntry is the entry point of the function that hands tasks over. It is on the stack
// of a goroutine in Execute, Rejected, or the error handler of a rejection.
var SubmitEntry = reflect.ValueOf((*Runner).submit).Pointer()

// submit hands task to executor. If the executor fails before it has started the task,
// the task never runs, and submit reports the error that refused returns.
//
//go:noinline
func (r *Runner) submit(executor hwt.Executor, timeout hwt.Timeout, task func(), refused func(error) error) {
	var err error
	s := &submission{runner: r, task: task}
	if r.Executor == nil {
		r.handed.Add(1)
	}
	fail := func(rejected bool, err error) {
		if rejected {
			defer s.end()
			r.executorRejected.Add(1)
			err = refused(err)
		}
		r.report(timeout, err)
	}
	usercode.Run(func() { err = executor.Execute(s.run) }, func(err error) {
		rejected := s.begin()
		if !rejected && err == hwt.ErrGoexit && !s.returned.Load() {
			return // The task's, which ran in Execute and has been reported.
		}
		r.count(err)
		fail(rejected, err)
	})
	if err != nil {
		fail(s.begin(), fmt.Errorf("hwt: executor rejected the task: %w", err))
	}
}

// submission is a task that waits in the executor.
type submission struct {
	runner *Runner
	task   func()
	left   atomic.Bool // The task was started or rejected.

	returned atomic.Bool // The task has returned.
}

// run runs the task, unless it was started or rejected before.
func (s *submission) run() {
	if s.begin() {
		defer s.end()
		s.task()
		s.returned.Store(true)
	}
}

// begin counts that the task was started or rejected. begin returns false if the task was
// started or rejected before.
func (s *submission) begin() bool {
	if !s.left.CompareAndSwap(false, true) {
		return false
	}
	s.runner.begun.Add(1)
	return true
}

// end counts that the task or its rejection has returned.
func (s *submission) end() {
	s.runner.ended.Add(1)
	s.runner.Ended()
}

// refused lets the task handle err, the executor's rejection, and returns the error to
// report.
func (r *Runner) refused(timeout hwt.Timeout, task hwt.TimerTask, err error) error {
	if t, ok := task.(hwt.RejectedTask); ok {
		usercode.Run(func() { err = t.Rejected(timeout, err) }, func(err error) { r.broken(timeout, err) })
	}
	return err
}

// broken counts and reports user code that did not return.
func (r *Runner) broken(timeout hwt.Timeout, err error) {
	r.count(err)
	r.report(timeout, err)
}

// count counts user code that did not return.
func (r *Runner) count(err error) {
	if err == hwt.ErrGoexit {
		r.failed.Add(1)
	} else {
		r.panics.Add(1)
	}
}

// report hands a non-nil err to the error handler. Without a handler, or if the handler
// does not return, report logs err.
func (r *Runner) report(timeout hwt.Timeout, err error) {
	if err == nil {
		return
	}
	if r.OnError == nil {
		r.log(timeout, err)
		return
	}
	usercode.Run(func() { r.OnError(timeout, err) }, func(broken error) {
		r.log(timeout, err)
		r.log(timeout, fmt.Errorf("hwt: error handler did not return: %w", broken))
	})
}

// Warn logs a warning. A log handler that panics is ignored.
func (r *Runner) Warn(message string, attrs ...any) { r.write(slog.LevelWarn, message, attrs) }

func (r *Runner) write(level slog.Level, message string, attrs []any) {
	defer func() { _ = recover() }() // There is no other place to report it.
	r.Logger.With(AttrTimer, r.Name).Log(context.Background(), level, message, attrs...)
}

func (r *Runner) log(timeout hwt.Timeout, err error) {
	attrs := []any{AttrTask, TaskName(timeout.Task()), AttrError, err}
	// Not errors.As: an error that is a typed nil may panic when it is unwrapped.
	if broken, ok := err.(*hwt.PanicError); ok && broken != nil {
		attrs = append(attrs, AttrStack, string(broken.Stack))
	}
	r.write(slog.LevelError, "hwt: task failed", attrs)
}

// CallLate starts a goroutine for call. call gives a notice after the last worker has ended. Of
// a timer with an executor, Submitted counts the notice already.
func (r *Runner) CallLate(call func()) {
	if r.Executor != nil {
		go call()
		return
	}
	r.late.Add(1)
	go func() {
		defer func() {
			r.late.Add(-1)
			r.Ended()
		}()
		call()
	}()
}

// Contexts holds the context of a timer's [hwt.ContextTaskFunc]s. The first use creates it. The
// zero value is ready for use.
type Contexts struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelCauseFunc
}

func (c *Contexts) make() { c.ctx, c.end = context.WithCancelCause(context.Background()) }

// TaskContext returns the context.
func (c *Contexts) TaskContext() context.Context {
	c.once.Do(c.make)
	return c.ctx
}

// EndContexts cancels the context.
func (c *Contexts) EndContexts() {
	c.once.Do(c.make)
	c.end(hwt.ErrStopped)
}
