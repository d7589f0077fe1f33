package hwttest

import (
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

var isolationChecks = []check{
	{"BadTaskAffectsNoOther", fake, badTasks},
	{"BadTaskIsLoggedByDefault", fake, badTaskLogged},
	{"BadErrorHandlerAffectsNoOther", fake, badHandlers},
	{"BlockedTaskOnlyDelaysTimeouts", fake, blockedTask},
}

var errTask = errors.New("task failed")

// badTask is a task that fails in some way.
type badTask struct {
	name string
	run  func(hwt.Timeout) error
	err  error // the error that the handler gets; nil: a PanicError
}

func badOnes() []badTask {
	return []badTask{
		{"returns an error", func(hwt.Timeout) error { return errTask }, errTask},
		{"panics with a value", func(hwt.Timeout) error { panic("no good") }, nil},
		{"panics with an error", func(hwt.Timeout) error { panic(errTask) }, errTask},
		{"panics with nil", func(hwt.Timeout) error { panic(nil) }, nil},
		{"divides by zero", func(hwt.Timeout) error { zero := 0; _ = 1 / zero; return nil }, nil},
		{"ends its goroutine", func(hwt.Timeout) error { runtime.Goexit(); return nil }, nil},
	}
}

// report is a call of an error handler.
type report struct {
	timeout hwt.Timeout
	err     error
}

// reports is an error handler that records its calls.
type reports struct {
	mu  sync.Mutex
	all []report
}

func (r *reports) handle(timeout hwt.Timeout, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, report{timeout, err})
}

// take returns and removes the reports.
func (r *reports) take() []report {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// badTasks runs bad tasks beside good ones of the same tick, and of earlier and later ones.
func badTasks(tb testing.TB, newTimer factory) {
	for name, run := range map[string]hwt.Executor{"without": nil, "inline": executor(inline), "elsewhere": executor(elsewhere)} {
		var reported reports
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: run})
		for _, bad := range badOnes() {
			msg := "a task that " + bad.name + ", executor " + name
			begin := time.Now()
			before, after := new(probe), new(probe)
			schedule(tb, e, before, tick)
			timeout := schedule(tb, e, hwt.TaskFunc(bad.run), 2*tick)
			beside, _ := scheduleAll(tb, e, 3, 2*tick, newProbe)
			another := schedule(tb, e, hwt.TaskFunc(bad.run), 2*tick)
			schedule(tb, e, after, 5*tick)
			pass(10 * tick)

			ranOnTime(tb, before, begin.Add(tick), "%s", msg)
			for _, p := range beside {
				ranOnTime(tb, p, begin.Add(2*tick), "%s", msg)
			}
			ranOnTime(tb, after, begin.Add(5*tick), "%s", msg)
			assert.True(tb, timeout.IsExpired(), msg)
			var subjects []hwt.Timeout
			for _, r := range reported.take() {
				subjects = append(subjects, r.timeout)
				bad.assertReported(tb, r.err)
			}
			sameTimeouts(tb, []hwt.Timeout{timeout, another}, subjects)
		}
		s := balanced(tb, e)
		assert.Equal(tb, 4, s.Failed, "the error and the Goexit")
		assert.Equal(tb, 8, s.Panics)
		assert.Zero(tb, s.Pending)
	}
}

func (bad badTask) assertReported(tb testing.TB, err error) {
	require.NotNil(tb, err, bad.name)
	if bad.err != nil {
		assert.ErrorIs(tb, err, bad.err, bad.name)
	}
	var broken *hwt.PanicError
	if errors.As(err, &broken) {
		assert.NotNil(tb, broken.Value, bad.name)
		assert.True(tb, len(broken.Stack) > 0, bad.name)
	}
}

func badTaskLogged(tb testing.TB, newTimer factory) {
	var log enginetest.Buffer
	e := newTimer.start(tb, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, bad := range badOnes() {
		schedule(tb, e, hwt.TaskFunc(bad.run), 0)
		pass(2 * tick)
		assert.Contains(tb, log.Take(), "level=ERROR", bad.name)
	}
}

func badHandlers(tb testing.TB, newTimer factory) {
	for name, handler := range map[string]func(hwt.Timeout, error){
		"panics":             func(hwt.Timeout, error) { panic("handler") },
		"ends its goroutine": func(hwt.Timeout, error) { runtime.Goexit() },
	} {
		e := newTimer.start(tb, Options{ErrorHandler: handler, Logger: slog.New(slog.DiscardHandler)})
		for _, bad := range badOnes() {
			begin := time.Now()
			schedule(tb, e, hwt.TaskFunc(bad.run), tick)
			beside, after := new(probe), new(probe)
			schedule(tb, e, beside, tick)
			schedule(tb, e, after, 4*tick)
			pass(8 * tick)
			ranOnTime(tb, beside, begin.Add(tick), "task %s, handler %s", bad.name, name)
			ranOnTime(tb, after, begin.Add(4*tick), "task %s, handler %s", bad.name, name)
		}
		assert.Zero(tb, balanced(tb, e).Pending)
	}
}

func blockedTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{Logger: slog.New(slog.DiscardHandler)})
	release := make(chan struct{})
	schedule(tb, e, task(func(hwt.Timeout) { <-release }), tick)
	blocked(tb, e, func() { close(release) })
	assert.Zero(tb, balanced(tb, e).Pending)
}

// blocked lets the deadlines of tasks pass while something blocks the tasks until release.
// Tasks may be late, but all run.
func blocked(tb testing.TB, e hwt.Engine, release func()) {
	held, _ := scheduleAll(tb, e, 50, 2*tick, newProbe)
	pass(time.Minute)
	assert.True(tb, schedule(tb, e, nothing, time.Second).Cancel(), "Cancel waits for no task or executor")
	later, now := new(probe), time.Now()
	schedule(tb, e, later, 10*tick)
	release()
	pass(20 * tick)
	allRan(tb, 1, held)
	ranOnTime(tb, later, now.Add(10*tick), "once nothing blocks")
}
