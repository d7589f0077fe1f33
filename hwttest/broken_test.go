package hwttest

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBrokenEnginesFail injects each fault alone into a sound engine, and asserts that
// the checks of that fault fail. They pass on the sound engine, so they detect the fault.
func TestBrokenEnginesFail(t *testing.T) {
	sound := make(map[string]bool)
	for _, fault := range faults {
		for _, name := range fault.caughtBy {
			t.Run(fault.name+"/"+name, func(t *testing.T) {
				c := checkNamed(t, name)
				if !sound[name] {
					c.on(t, func(t *testing.T) {
						sound[name] = assert.False(t, fails(t, c, nil), "the sound engine failed")
					})
				}
				c.on(t, func(t *testing.T) {
					assert.True(t, fails(t, c, fault.inject), "the fault was not detected")
				})
			})
		}
	}
}

// TestEveryCheckDetectsAFault asserts that each check detects a fault.
func TestEveryCheckDetectsAFault(t *testing.T) {
	seen := make(map[string]bool)
	for _, fault := range faults {
		for _, name := range fault.caughtBy {
			seen[name] = true
		}
	}
	for _, theme := range themes() {
		for _, c := range theme.checks {
			assert.True(t, seen[c.name], "no fault for %s", c.name)
		}
	}
}

func checkNamed(t *testing.T, name string) check {
	for _, theme := range themes() {
		for _, c := range theme.checks {
			if c.name == name {
				return c
			}
		}
	}
	t.Fatalf("no check named %s", name)
	return check{}
}

// fails runs c on an engine with a fault and reports whether it failed.
func fails(t *testing.T, c check, inject func(*broken)) bool {
	tb := &recorder{TB: t, wait: 10 * time.Second}
	if inject != nil {
		tb.wait = time.Second / 5
	}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		c.run(tb, func(tb testing.TB, c Options) hwt.Engine { return newBroken(tb, c, inject) })
	}()
	<-done
	return tb.failed.Load()
}

// recorder is a testing.TB that records failures without failing the test.
type recorder struct {
	testing.TB
	failed atomic.Bool
	wait   time.Duration // the patience of Eventually. Immutable.
}

// Unwrap returns the real test.
func (r *recorder) Unwrap() testing.TB { return r.TB }

func (r *recorder) patience() time.Duration { return r.wait }

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }

func (r *recorder) FailNow() {
	r.failed.Store(true)
	runtime.Goexit()
}

// broken is an engine with hooks for faults. It is sound without hooks.
type broken struct {
	*runtimetimer.Timer
	config Options

	delay      func(time.Duration) time.Duration
	task       func(*broken, hwt.TimerTask) hwt.TimerTask
	newTimeout func(*broken, hwt.TimerTask, time.Duration) (hwt.Timeout, error)
	batch      func(*broken, []hwt.TimerTask, time.Duration) ([]hwt.Timeout, error)
	cancel     func(*broken, hwt.Timeout) bool
	reset      func(*broken, hwt.Timeout, time.Duration) bool
	deadline   func(*broken, time.Time, hwt.Timeout) time.Time
	afterFunc  func(*broken, time.Duration, func()) (hwt.Timeout, error)
	stop       func(*broken) []hwt.Timeout
	shutdown   func(*broken, context.Context) ([]hwt.Timeout, error)
	all        func(*broken, iter.Seq[hwt.Timeout], func(hwt.Timeout) bool)
	stats      func(*hwt.Stats)
	pending    func(int64) int64
	initEvent  func(*broken, *hwt.Event, hwt.TimerTask) error

	kept  []any
	calls int
}

func newBroken(tb testing.TB, c Options, inject func(*broken)) hwt.Engine {
	b := &broken{config: c}
	if inject != nil {
		inject(b)
	}
	timer, err := runtimetimer.New(&runtimetimer.Options{
		MaxPendingTimeouts: b.config.MaxPendingTimeouts,
		Executor:           b.config.Executor,
		Logger:             b.config.Logger,
		ErrorHandler:       b.config.ErrorHandler,
		RecordCallers:      b.config.RecordCallers,
		LabelTasks:         b.config.LabelTasks,
	})
	require.NoError(tb, err)
	b.Timer = timer
	if inject == nil {
		return timer
	}
	return b
}

func (b *broken) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if b.newTimeout != nil {
		return b.newTimeout(b, task, delay)
	}
	if b.task != nil {
		task = b.task(b, task)
	}
	if b.delay != nil {
		delay = b.delay(delay)
	}
	timeout, err := b.Timer.NewTimeout(task, delay)
	if err != nil || b.cancel == nil && b.reset == nil && b.deadline == nil {
		return timeout, err
	}
	return &brokenTimeout{timeout, b}, nil
}

func (b *broken) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	if b.batch != nil {
		return b.batch(b, tasks, delay)
	}
	return b.Timer.NewTimeouts(tasks, delay)
}

func (b *broken) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	if b.afterFunc != nil {
		return b.afterFunc(b, delay, f)
	}
	return b.Timer.AfterFunc(delay, f)
}

func (b *broken) Stop() []hwt.Timeout {
	if b.stop != nil {
		return b.stop(b)
	}
	return b.Timer.Stop()
}

func (b *broken) All() iter.Seq[hwt.Timeout] {
	if b.all != nil {
		return func(yield func(hwt.Timeout) bool) { b.all(b, b.Timer.All(), yield) }
	}
	return b.Timer.All()
}

func (b *broken) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	if b.shutdown != nil {
		return b.shutdown(b, ctx)
	}
	return b.Timer.Shutdown(ctx)
}

func (b *broken) Stats() hwt.Stats {
	s := b.Timer.Stats()
	if b.stats != nil {
		b.stats(&s)
	}
	return s
}

func (b *broken) InitEvent(e *hwt.Event, task hwt.TimerTask) error {
	if b.initEvent != nil {
		return b.initEvent(b, e, task)
	}
	return b.Timer.InitEvent(e, task)
}

// ordinaryEvents has package hwt make the events of the timeouts of b, with their faults.
func ordinaryEvents(b *broken, e *hwt.Event, task hwt.TimerTask) error {
	return e.Init(struct{ hwt.Timer }{b}, task)
}

func (b *broken) Pending() int64 {
	if b.pending != nil {
		return b.pending(b.Timer.Pending())
	}
	return b.Timer.Pending()
}

type brokenTimeout struct {
	hwt.Timeout
	b *broken
}

func (t *brokenTimeout) String() string { return fmt.Sprint(t.Timeout) }

func (t *brokenTimeout) Deadline() time.Time {
	if t.b.deadline != nil {
		return t.b.deadline(t.b, t.Timeout.Deadline(), t.Timeout)
	}
	return t.Timeout.Deadline()
}

func (t *brokenTimeout) Cancel() bool {
	if t.b.cancel != nil {
		return t.b.cancel(t.b, t.Timeout)
	}
	return t.Timeout.Cancel()
}

func (t *brokenTimeout) Reset(delay time.Duration) bool {
	if t.b.reset != nil {
		return t.b.reset(t.b, t.Timeout, delay)
	}
	return t.Timeout.Reset(delay)
}
