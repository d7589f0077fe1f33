package enginekit

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a minimal timeout for a Runner.
type stub struct{ task hwt.TimerTask }

func (s *stub) Timer() hwt.Timer         { return nil }
func (s *stub) Task() hwt.TimerTask      { return s.task }
func (s *stub) Deadline() time.Time      { return time.Time{} }
func (s *stub) IsExpired() bool          { return true }
func (s *stub) IsCancelled() bool        { return false }
func (s *stub) Cancel() bool             { return false }
func (s *stub) Reset(time.Duration) bool { return false }

// bench is a Runner with a recording handler and log.
type bench struct {
	Runner
	errs     []error
	timeouts []hwt.Timeout
	log      bytes.Buffer
}

func newBench() *bench {
	b := new(bench)
	b.Name, b.Submitted = "bench", b.begun.Load
	b.Logger = slog.New(slog.NewTextHandler(&b.log, nil))
	b.OnError = func(timeout hwt.Timeout, err error) {
		b.timeouts = append(b.timeouts, timeout)
		b.errs = append(b.errs, err)
	}
	return b
}

func (b *bench) counts() [3]int64 {
	var s hwt.Stats
	b.AddTo(&s)
	return [3]int64{s.Failed, s.Panics, s.ExecutorRejected}
}

// run runs f as a task on a new goroutine, and reports whether Run returned.
func (b *bench) run(f func() error) (returned bool) {
	task := hwt.TaskFunc(func(hwt.Timeout) error { return f() })
	return apart(func() { b.Run(&stub{task}, task) })
}

// apart calls f on a new goroutine. It returns false if f ended the goroutine. A panic in f
// ends the test.
func apart(f func()) (returned bool) {
	var done sync.WaitGroup
	done.Go(func() {
		f()
		returned = true
	})
	done.Wait()
	return returned
}

// badError is an error whose methods panic, like those of a nil pointer.
type badError struct{ cause error }

func (e *badError) Error() string { return e.cause.Error() }
func (e *badError) Unwrap() error { return e.cause }

// badValue panics when it is printed.
type badValue struct{}

func (badValue) String() string { panic("no string") }

func TestIsNilTaskFindsTypedNils(t *testing.T) {
	assert.True(t, IsNilTask(nil))
	assert.True(t, IsNilTask(hwt.TaskFunc(nil)))
	assert.True(t, IsNilTask(Func(nil)))
	assert.False(t, IsNilTask(Func(func() {})))
	assert.False(t, IsNilTask(hwt.TaskFunc(func(hwt.Timeout) error { return nil })))
	assert.False(t, IsNilTask((*notifier)(nil)), "a method may well do with a nil receiver")
}

type notifier struct{ f func() }

func (c *notifier) Run(hwt.Timeout) error { return nil }
func (c *notifier) Cancelled(hwt.Timeout) { c.f() }

func TestOnlyCancelledTasksWantCancelled(t *testing.T) {
	assert.True(t, WantsCancelled(&notifier{}))
	assert.False(t, WantsCancelled(Func(func() {})))
	assert.False(t, WantsCancelled(hwt.TaskFunc(nil)))
	assert.False(t, WantsCancelled(nil))
	b := newBench()
	b.Cancelled(&stub{}, Func(func() { assert.Fail(t, "run") }))
	assert.Zero(t, b.counts())
}

func TestTaskThatSucceedsIsNotReported(t *testing.T) {
	b := newBench()
	ran := 0
	assert.True(t, b.run(func() error { ran++; return nil }))
	assert.Equal(t, 1, ran)
	assert.Empty(t, b.errs)
	assert.Zero(t, b.counts())
}

func TestErrorOfATaskIsReportedUnchanged(t *testing.T) {
	b := newBench()
	assert.True(t, b.run(func() error { return fs.ErrClosed }))
	assert.Equal(t, []error{fs.ErrClosed}, b.errs)
	assert.Equal(t, [3]int64{1, 0, 0}, b.counts())
	assert.Empty(t, b.log.String())
}

func TestPanicOfATaskIsReportedWithItsStack(t *testing.T) {
	b := newBench()
	assert.True(t, b.run(func() error { panicsHere(); return nil }))
	require.Len(t, b.errs, 1)
	var broken *hwt.PanicError
	require.ErrorAs(t, b.errs[0], &broken)
	assert.Equal(t, "no good", broken.Value)
	assert.Contains(t, string(broken.Stack), "panicsHere")
	assert.Equal(t, [3]int64{0, 1, 0}, b.counts())
}

func panicsHere() { panic("no good") }

func TestPanicWithNilIsAPanic(t *testing.T) {
	b := newBench()
	assert.True(t, b.run(func() error { panic(nil) }))
	assert.Equal(t, [3]int64{0, 1, 0}, b.counts())
	var value *runtime.PanicNilError
	assert.ErrorAs(t, b.errs[0], &value)
}

func TestGoexitIsReportedAndEndsTheGoroutine(t *testing.T) {
	b := newBench()
	assert.False(t, b.run(func() error { runtime.Goexit(); return nil }))
	assert.Equal(t, []error{hwt.ErrGoexit}, b.errs)
	assert.Equal(t, [3]int64{1, 0, 0}, b.counts())
}

func TestGoexitAfterARecoveredPanicIsStillAGoexit(t *testing.T) {
	b := newBench()
	assert.False(t, b.run(func() error {
		defer runtime.Goexit()
		defer func() { _ = recover() }()
		panic("hidden")
	}))
	assert.Equal(t, []error{hwt.ErrGoexit}, b.errs)
}

func TestErrorsAreLoggedWithoutAHandler(t *testing.T) {
	b := newBench()
	b.OnError = nil
	assert.True(t, b.run(func() error { return fs.ErrClosed }))
	assert.Contains(t, b.log.String(), "level=ERROR")
	assert.Contains(t, b.log.String(), "timer=bench")
	assert.Contains(t, b.log.String(), `task="github.com/hashedwheel/hwt/internal/enginekit.(*bench).run.func1 (`)
	assert.Contains(t, b.log.String(), "file already closed")
	assert.NotContains(t, b.log.String(), "stack=")
	b.log.Reset()
	assert.True(t, b.run(func() error { panicsHere(); return nil }))
	assert.Contains(t, b.log.String(), "panicsHere", "the stack is logged")
}

func TestValuesThatPanicWhenPrintedAreLogged(t *testing.T) {
	for name, f := range map[string]func() error{
		"a typed nil as an error":     func() error { return (*badError)(nil) },
		"a nil *PanicError":           func() error { return (*hwt.PanicError)(nil) },
		"a wrapped typed nil":         func() error { return &badError{(*badError)(nil)} },
		"a panic with a typed nil":    func() error { panic((*badError)(nil)) },
		"a panic with a bad Stringer": func() error { panic(badValue{}) },
	} {
		b := newBench()
		b.OnError = nil
		assert.True(t, b.run(f), name)
		assert.Contains(t, b.log.String(), "level=ERROR", name)
		counts := b.counts()
		assert.EqualValues(t, 1, counts[0]+counts[1], name)
	}
}

func TestErrorsAreLoggedIfTheHandlerPanics(t *testing.T) {
	b := newBench()
	b.OnError = func(hwt.Timeout, error) { panic("handler is broken") }
	assert.True(t, b.run(func() error { return fs.ErrClosed }))
	assert.True(t, b.run(func() error { panic("no good") }))
	for _, text := range []string{"file already closed", "no good", "handler is broken"} {
		assert.Contains(t, b.log.String(), text)
	}
	assert.Equal(t, [3]int64{1, 1, 0}, b.counts())
}

func TestHandlerMayEndItsGoroutine(t *testing.T) {
	b := newBench()
	b.OnError = func(hwt.Timeout, error) { runtime.Goexit() }
	assert.False(t, b.run(func() error { return fs.ErrClosed }))
	assert.False(t, b.run(func() error { panic("no good") }))
	for _, text := range []string{"file already closed", "no good", "error handler did not return: " + hwt.ErrGoexit.Error()} {
		assert.Contains(t, b.log.String(), text)
	}
	assert.Equal(t, [3]int64{1, 1, 0}, b.counts())
}

// brokenLog is a log handler that panics.
type brokenLog struct{ slog.Handler }

func (brokenLog) WithAttrs([]slog.Attr) slog.Handler        { return brokenLog{} }
func (brokenLog) Enabled(context.Context, slog.Level) bool  { return true }
func (brokenLog) Handle(context.Context, slog.Record) error { panic("log is broken") }

func TestPanicOfTheLogIsIgnored(t *testing.T) {
	b := newBench()
	b.Logger, b.OnError = slog.New(brokenLog{}), nil
	assert.True(t, b.run(func() error { return fs.ErrClosed }))
	assert.True(t, b.run(func() error { panic("no good") }))
	assert.NotPanics(t, func() { b.Warn("no good") })
	b.OnError = func(hwt.Timeout, error) { panic("handler is broken, too") }
	assert.True(t, b.run(func() error { return fs.ErrClosed }))
	assert.Equal(t, [3]int64{2, 1, 0}, b.counts())
}

func TestCancelledIsIsolatedLikeATask(t *testing.T) {
	for _, c := range []struct {
		name     string
		f        func()
		returned bool
		counts   [3]int64
	}{
		{"returns", func() {}, true, [3]int64{}},
		{"panics", func() { panic("no good") }, true, [3]int64{0, 1, 0}},
		{"ends its goroutine", runtime.Goexit, false, [3]int64{1, 0, 0}},
	} {
		b := newBench()
		task := &notifier{c.f}
		timeout := &stub{task}
		assert.Equal(t, c.returned, apart(func() { b.Cancelled(timeout, task) }), c.name)
		assert.Equal(t, c.counts, b.counts(), c.name)
		for _, reported := range b.timeouts {
			assert.Same(t, timeout, reported, c.name)
		}
	}
}
