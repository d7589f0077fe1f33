package enginekit

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

type executor func(func()) error

func (f executor) Execute(task func()) error { return f(task) }

func TestExecutorRunsTasksAndCallbacks(t *testing.T) {
	b := newBench()
	var queue []func()
	b.Executor = executor(func(task func()) error {
		queue = append(queue, task)
		return nil
	})
	calls := 0
	assert.True(t, b.run(func() error { calls++; return fs.ErrClosed }))
	b.Cancelled(&stub{}, &notifier{func() { calls++; panic("no good") }})
	require.Len(t, queue, 2)
	assert.Zero(t, calls, "not run here")
	for _, task := range queue {
		assert.NotPanics(t, task, "a pool's worker must not die of a task")
	}
	assert.Equal(t, 2, calls)
	assert.Equal(t, [3]int64{1, 1, 0}, b.counts())
}

func TestExecutorRejectionIsReportedAndCounted(t *testing.T) {
	b := newBench()
	b.Executor = executor(func(func()) error { return fs.ErrPermission })
	assert.True(t, b.run(func() error { assert.Fail(t, "run"); return nil }))
	assert.True(t, apart(func() { b.Cancelled(&stub{}, &notifier{}) }))
	require.Len(t, b.errs, 2)
	for _, err := range b.errs {
		assert.ErrorIs(t, err, fs.ErrPermission)
	}
	assert.Equal(t, [3]int64{0, 0, 2}, b.counts())
}

func TestExecutorPanicIsReported(t *testing.T) {
	b := newBench()
	b.Executor = executor(func(func()) error { panic("pool is broken") })
	assert.True(t, b.run(func() error { return nil }))
	b.Executor = executor(func(func()) error { runtime.Goexit(); return nil })
	assert.False(t, b.run(func() error { return nil }))
	require.Len(t, b.errs, 2)
	assert.ErrorContains(t, b.errs[0], "pool is broken")
	assert.Equal(t, hwt.ErrGoexit, b.errs[1])
	assert.Equal(t, [3]int64{1, 1, 2}, b.counts(), "neither ran")
}

func TestConcurrentFailuresAreAllCounted(t *testing.T) {
	b := newBench()
	b.OnError = func(hwt.Timeout, error) {}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				b.run(func() error {
					if i%2 == 0 {
						panic(i)
					}
					return fmt.Errorf("task %d", i)
				})
			}
		})
	}
	all.Wait()
	assert.Equal(t, [3]int64{400, 400, 0}, b.counts())
}

// refusable is a task that handles rejections with f.
type refusable struct {
	run func()
	f   func(err error) error
}

func (r *refusable) Run(hwt.Timeout) error                   { r.run(); return nil }
func (r *refusable) Rejected(_ hwt.Timeout, err error) error { return r.f(err) }

func TestRejectedTaskHandlesTheRejection(t *testing.T) {
	errFull := errors.New("full")
	for name, c := range map[string]struct {
		execute func(func()) error
		cause   func(t *testing.T, err error)
		counts  [3]int64
	}{
		"an error": {
			func(func()) error { return errFull },
			func(t *testing.T, err error) { assert.ErrorIs(t, err, errFull) },
			[3]int64{0, 0, 1},
		},
		"a panic": {
			func(func()) error { panic("broken") },
			func(t *testing.T, err error) { assert.ErrorAs(t, err, new(*hwt.PanicError)) },
			[3]int64{0, 1, 1},
		},
		"a Goexit": {
			func(func()) error { runtime.Goexit(); return nil },
			func(t *testing.T, err error) { assert.Equal(t, hwt.ErrGoexit, err) },
			[3]int64{1, 0, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.Executor = executor(c.execute)
			var refusals []error
			task := &refusable{
				run: func() { assert.Fail(t, "run") },
				f:   func(err error) error { refusals = append(refusals, err); return nil },
			}
			apart(func() { b.Run(&stub{task}, task) })
			require.Len(t, refusals, 1)
			c.cause(t, refusals[0])
			assert.Empty(t, b.errs, "it was handled")
			assert.Equal(t, c.counts, b.counts())
		})
	}
}

// The executors break their rules, except for the one that runs the task inline.
func TestTaskRunsOnceOrIsRejected(t *testing.T) {
	errFull := errors.New("full")
	var later []func()
	for name, c := range map[string]struct {
		execute  func(func()) error
		run      func()
		ran      int
		rejected int
		reported int
		counts   [3]int64
	}{
		"runs it twice":                {func(f func()) error { f(); f(); return nil }, func() {}, 1, 0, 0, [3]int64{}},
		"runs it, and fails":           {func(f func()) error { f(); return errFull }, func() {}, 1, 0, 1, [3]int64{}},
		"runs it, and panics":          {func(f func()) error { f(); panic("broken") }, func() {}, 1, 0, 1, [3]int64{0, 1, 0}},
		"runs it, and Goexits":         {func(f func()) error { f(); runtime.Goexit(); return nil }, func() {}, 1, 0, 1, [3]int64{1, 0, 0}},
		"accepts it, and fails":        {func(f func()) error { later = append(later, f); return errFull }, func() {}, 0, 1, 0, [3]int64{0, 0, 1}},
		"accepts it, and panics":       {func(f func()) error { later = append(later, f); panic("broken") }, func() {}, 0, 1, 0, [3]int64{0, 1, 1}},
		"runs inline one that Goexits": {func(f func()) error { f(); return nil }, runtime.Goexit, 1, 0, 1, [3]int64{1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.Executor = executor(c.execute)
			ran, rejected := 0, 0
			task := &refusable{
				run: func() { ran++; c.run() },
				f:   func(error) error { rejected++; return nil },
			}
			apart(func() { b.Run(&stub{task}, task) })
			for _, f := range later {
				f()
			}
			assert.Equal(t, c.ran, ran, "runs")
			assert.Equal(t, c.rejected, rejected, "rejections")
			assert.Len(t, b.errs, c.reported)
			assert.Equal(t, c.counts, b.counts())
			assert.Zero(t, b.busy())
		})
	}
}

func TestErrorOfRejectedIsReported(t *testing.T) {
	b := newBench()
	b.Executor = executor(func(func()) error { return errors.New("full") })
	errMore := errors.New("more")
	task := &refusable{f: func(error) error { return errMore }}
	b.Run(&stub{task}, task)
	assert.Equal(t, []error{errMore}, b.errs)
}

func TestPanicOfRejectedIsReported(t *testing.T) {
	b := newBench()
	errFull := errors.New("full")
	b.Executor = executor(func(func()) error { return errFull })
	task := &refusable{f: func(error) error { panic("broken") }}
	assert.True(t, apart(func() { b.Run(&stub{task}, task) }))
	require.Len(t, b.errs, 2)
	assert.ErrorAs(t, b.errs[0], new(*hwt.PanicError))
	assert.ErrorIs(t, b.errs[1], errFull)
	assert.Equal(t, [3]int64{0, 1, 1}, b.counts())
}
