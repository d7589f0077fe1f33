package hwttest

import (
	"reflect"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/hashedwheel/hwt"
)

var lingerChecks = []check{
	{"IdleTimerDoesNotWake", fake, idleDoesNotWake},
	// Real: the garbage collector does not run in fake time.
	{"CancelledTaskIsCollectable", realClock, collectable(dropCancelled)},
	{"CancelledTaskIsCollectableAmongPendingOnes", realClock, collectable(dropCancelledAmongOthers)},
	{"ResetAndCancelledTaskIsCollectable", realClock, collectable(dropReset)},
	{"ExpiredTaskIsCollectable", realClock, collectable(dropExpired)},
	{"StoppedTaskIsCollectable", realClock, collectable(dropStopped)},
	{"AbandonedTimerIsCollectable", realClock, abandoned},
}

// idleDoesNotWake calls all methods, and then leaves the engine idle for hours.
func idleDoesNotWake(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	idle := func(when string) {
		pass(3 * tick) // The worker may need two ticks to become idle.
		before := e.Stats()
		pass(time.Hour)
		after := e.Stats()
		assert.Equal(tb, before.Wakeups, after.Wakeups, "wake-ups %s", when)
		assert.Equal(tb, before.Ticks, after.Ticks, "ticks %s", when)
	}
	e.Start()
	idle("before the first timeout")
	schedule(tb, e, nothing, 5*tick)
	pass(5 * tick)
	idle("after an expiry")
	schedule(tb, e, nothing, time.Hour).Cancel()
	idle("after an immediate cancel")
	timeout := schedule(tb, e, nothing, 30*time.Hour)
	pass(3 * tick)
	timeout.Reset(40 * time.Hour)
	pass(3 * tick)
	timeout.Cancel()
	idle("after a cancel of a far timeout")
	begin := time.Now()
	e.Stop()
	assert.LessOrEqual(tb, time.Since(begin), tick)
	idle("after Stop")
}

// ballast is a task of some size.
type ballast struct{ _ [1 << 10]byte }

func (*ballast) Run(hwt.Timeout) error { return nil }

// dropped creates a task, passes it to use, and returns a weak pointer to it.
//
//go:noinline
func dropped(use func(*ballast)) weak.Pointer[ballast] {
	task := new(ballast)
	use(task)
	return weak.Make(task)
}

// collected asserts that all tasks have been collected some time after two ticks.
func collected(tb testing.TB, tick time.Duration, tasks []weak.Pointer[ballast]) {
	time.Sleep(3 * tick)
	if !eventually(tb, "all collected", func() bool { return uncollected(tasks) == 0 }) {
		tb.Logf("%d of %d tasks still referenced", uncollected(tasks), len(tasks))
	}
}

// uncollected returns the number of tasks that are still referenced.
func uncollected(tasks []weak.Pointer[ballast]) (n int) {
	runtime.GC()
	for _, task := range tasks {
		if task.Value() != nil {
			n++
		}
	}
	return n
}

const realTick = time.Millisecond

// drop schedules n tasks, ends each with end, and keeps no reference to them.
func drop(tb testing.TB, e hwt.Engine, n int, delay time.Duration, end func(hwt.Timeout)) []weak.Pointer[ballast] {
	tasks := make([]weak.Pointer[ballast], n)
	for i := range tasks {
		tasks[i] = dropped(func(task *ballast) { end(schedule(tb, e, task, delay)) })
	}
	return tasks
}

func cancelled(timeout hwt.Timeout) { timeout.Cancel() }

// collectable returns a check that ends tasks in a way and drops all references to them.
func collectable(end func(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast]) func(testing.TB, factory) {
	return func(tb testing.TB, newTimer factory) {
		e := newTimer.start(tb, Options{TickDuration: realTick})
		collected(tb, realTick, end(tb, e))
		runtime.KeepAlive(e)
	}
}

func dropCancelled(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast] {
	at := drop(tb, e, 100, time.Hour, cancelled)
	after := drop(tb, e, 100, time.Hour, func(timeout hwt.Timeout) {
		time.Sleep(realTick / 10) // Some are cancelled in the intake, some later.
		timeout.Cancel()
	})
	return append(at, after...)
}

func dropCancelledAmongOthers(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast] {
	for i := range 1000 {
		schedule(tb, e, nothing, time.Hour+time.Duration(i)*time.Second)
	}
	var timeouts []hwt.Timeout
	tasks := drop(tb, e, 100, 100*time.Hour, func(timeout hwt.Timeout) { timeouts = append(timeouts, timeout) })
	time.Sleep(5 * realTick)
	for _, timeout := range timeouts {
		timeout.Cancel()
	}
	require.Equal(tb, 1000, e.Pending())
	return tasks
}

func dropReset(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast] {
	return drop(tb, e, 50, time.Hour, func(timeout hwt.Timeout) {
		timeout.Reset(2 * time.Hour)
		time.Sleep(realTick / 5)
		timeout.Reset(time.Minute)
		timeout.Reset(3 * time.Hour)
		timeout.Cancel()
	})
}

func dropExpired(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast] {
	tasks := drop(tb, e, 100, 2*realTick, func(hwt.Timeout) {})
	eventually(tb, "nothing pending", func() bool { return e.Pending() == 0 })
	return tasks
}

func dropStopped(tb testing.TB, e hwt.Engine) []weak.Pointer[ballast] {
	tasks := drop(tb, e, 100, time.Hour, func(hwt.Timeout) {})
	time.Sleep(3 * realTick)
	tasks = append(tasks, drop(tb, e, 100, time.Hour, func(hwt.Timeout) {})...)
	assert.Len(tb, e.Stop(), 200)
	return tasks
}

// abandoned drops an engine without pending timeouts and without Stop. The engine must be
// collected and its goroutine must end, as realClock asserts.
func abandoned(tb testing.TB, newTimer factory) {
	gone := weakEngine(tb, newTimer)
	time.Sleep(5 * realTick)
	eventually(tb, "the engine collected", func() bool {
		runtime.GC()
		return gone.Value() == nil
	})
}

// weakEngine uses an engine and returns a weak pointer to it. weakEngine does not call
// factory.start, which would keep the engine in order to stop it.
//
//go:noinline
func weakEngine(tb testing.TB, newTimer factory) weak.Pointer[byte] {
	e := newTimer(tb, Options{TickDuration: realTick})
	if reflect.TypeOf(e).Kind() != reflect.Pointer {
		e.Stop()
		tb.Skip("the engine is not a pointer")
	}
	schedule(tb, e, nothing, time.Hour).Cancel()
	schedule(tb, e, nothing, realTick)
	eventually(tb, "nothing pending", func() bool { return e.Pending() == 0 })
	// The engine's type is unknown. A weak pointer to the first byte of an object
	// becomes nil with the object.
	return weak.Make((*byte)(reflect.ValueOf(e).UnsafePointer()))
}
