package hwttest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashedwheel/hwt"
)

// probe is a task that remembers how often and when it ran, and how often and
// when it was notified of its cancellation.
type probe struct{ ran, notified mark }

func (p *probe) Run(hwt.Timeout) error {
	p.ran.set()
	return nil
}

func (p *probe) Cancelled(hwt.Timeout) { p.notified.set() }

// mark is something that should happen at most once.
type mark struct {
	times atomic.Int64
	last  atomic.Pointer[time.Time]
}

func (m *mark) set() {
	now := time.Now()
	m.last.Store(&now)
	m.times.Add(1)
}

func (m *mark) count() int { return int(m.times.Load()) }

// at returns when it happened last, or the zero time.
func (m *mark) at() time.Time {
	if last := m.last.Load(); last != nil {
		return *last
	}
	return time.Time{}
}

// schedule is NewTimeout where it must succeed.
func schedule(tb testing.TB, e hwt.Engine, task hwt.TimerTask, delay time.Duration) hwt.Timeout {
	tb.Helper()
	timeout, err := e.NewTimeout(task, delay)
	require.NoError(tb, err)
	require.NotNil(tb, timeout)
	return timeout
}

// scheduleAll schedules n tasks of make's at the same delay.
func scheduleAll[T hwt.TimerTask](tb testing.TB, e hwt.Engine, n int, delay time.Duration, newTask func() T) ([]T, []hwt.Timeout) {
	tb.Helper()
	tasks, timeouts := make([]T, n), make([]hwt.Timeout, n)
	for i := range tasks {
		tasks[i] = newTask()
		timeouts[i] = schedule(tb, e, tasks[i], delay)
	}
	return tasks, timeouts
}

func newProbe() *probe { return new(probe) }

// task makes a task of a function that cannot fail.
func task(f func(timeout hwt.Timeout)) hwt.TimerTask {
	return hwt.TaskFunc(func(timeout hwt.Timeout) error {
		f(timeout)
		return nil
	})
}

// nothing is a task that does nothing.
var nothing = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// pass lets fake time go by and everything that is due by then run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// between asserts that at lies within [earliest, latest].
func between(tb testing.TB, at, earliest, latest time.Time, msg string, args ...any) {
	tb.Helper()
	if at.Before(earliest) || at.After(latest) {
		tb.Errorf("%s: %v after the earliest time, want 0 to %v", fmt.Sprintf(msg, args...), at.Sub(earliest), latest.Sub(earliest))
	}
}

// ranOnTime asserts that p ran once, at the deadline or within a tick of it.
func ranOnTime(tb testing.TB, p *probe, deadline time.Time, msg string, args ...any) {
	tb.Helper()
	if !assert.Equal(tb, 1, p.ran.count(), "runs") {
		return
	}
	between(tb, p.ran.at(), deadline, deadline.Add(tick), msg, args...)
}

// impatient is a testing.TB of an engine that is broken, for which nothing that
// it lacks will come true.
type impatient interface{ patience() time.Duration }

// eventually waits, on the real clock, for something that must come true. The
// bound is far beyond what a loaded machine needs. It may be called from any
// goroutine.
func eventually(tb testing.TB, what string, met func() bool) bool {
	tb.Helper()
	patience := 10 * time.Second
	if known, ok := tb.(impatient); ok {
		patience = known.patience()
	}
	for deadline := time.Now().Add(patience); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Errorf("still not true: %s", what)
			return false
		}
	}
	return true
}

// same asserts that want and got are identical. It does not read the memory that they
// point to, since other goroutines may write it.
func same(tb testing.TB, want, got any, what string) bool {
	tb.Helper()
	return assert.True(tb, want == got, "not the same: "+what)
}

// contains asserts that all contains each timeout of part.
func contains(tb testing.TB, all, part []hwt.Timeout) bool {
	tb.Helper()
	known := make(map[hwt.Timeout]bool)
	for _, timeout := range all {
		known[timeout] = true
	}
	missing := 0
	for _, timeout := range part {
		if !known[timeout] {
			missing++
		}
	}
	return assert.Zero(tb, missing, "missing timeouts")
}

// sameTimeouts asserts that want and got contain the same timeouts, in any order.
func sameTimeouts(tb testing.TB, want, got []hwt.Timeout) bool {
	tb.Helper()
	count := make(map[hwt.Timeout]int)
	for _, timeout := range want {
		count[timeout]++
	}
	for _, timeout := range got {
		count[timeout]--
	}
	missing, extra := 0, 0
	for _, n := range count {
		missing += max(n, 0)
		extra += max(-n, 0)
	}
	return assert.True(tb, missing == 0 && extra == 0, "of %d timeouts %d missing, %d extra", len(want), missing, extra)
}

// balanced asserts that the counts of a timer with nothing in flight add up.
func balanced(tb testing.TB, e hwt.Engine) hwt.Stats {
	tb.Helper()
	s := e.Stats()
	assert.Equal(tb, s.Accepted, s.Pending+s.Expired+s.Cancelled+s.Unprocessed, "accepted = pending+expired+cancelled+unprocessed: %+v", s)
	assert.Equal(tb, s.Pending, e.Pending(), "Stats and Pending disagree")
	assert.Equal(tb, s.Expired, s.Lateness.Count(), "each that expired has its lateness")
	return s
}

// together runs f on n goroutines that start as nearly at once as may be, and
// waits for them.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	done.Wait()
}

// atOnce lets meddle run at the instant at which what prepare schedules comes
// due, delay from now, in a bubble. One goroutine's sleep is set before what
// prepare sets and one's after, so that now one side is first and now the other.
func atOnce(delay time.Duration, prepare, meddle func()) {
	prepared := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		time.Sleep(delay)
		<-prepared // It is; for the race detector.
		meddle()
	})
	synctest.Wait()
	prepare()
	close(prepared)
	done.Go(func() {
		time.Sleep(delay)
		meddle()
	})
	done.Wait()
}

// onProcs runs f at several settings of GOMAXPROCS, because races that hide at
// one show at another.
func onProcs(f func(procs int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		f(procs)
	}
}

// upTo returns a random duration below d.
func upTo(d time.Duration) time.Duration { return rand.N(d) }
