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

// probe is a task that records its runs and its notifications of a cancellation.
type probe struct{ ran, notified mark }

func (p *probe) Run(hwt.Timeout) error {
	p.ran.set()
	return nil
}

func (p *probe) Cancelled(hwt.Timeout) { p.notified.set() }

// mark counts an event that should happen at most once, and records its time.
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

// at returns the time of the last event, or the zero time.
func (m *mark) at() time.Time {
	if last := m.last.Load(); last != nil {
		return *last
	}
	return time.Time{}
}

// schedule is NewTimeout, and fails the check on an error.
func schedule(tb testing.TB, e hwt.Engine, task hwt.TimerTask, delay time.Duration) hwt.Timeout {
	timeout, err := e.NewTimeout(task, delay)
	require.NoError(tb, err)
	require.NotNil(tb, timeout)
	return timeout
}

// scheduleAll schedules n new tasks with the same delay.
func scheduleAll[T hwt.TimerTask](tb testing.TB, e hwt.Engine, n int, delay time.Duration, newTask func() T) ([]T, []hwt.Timeout) {
	tasks, timeouts := make([]T, n), make([]hwt.Timeout, n)
	for i := range tasks {
		tasks[i] = newTask()
		timeouts[i] = schedule(tb, e, tasks[i], delay)
	}
	return tasks, timeouts
}

func newProbe() *probe { return new(probe) }

// task returns a task that calls f and succeeds.
func task(f func(timeout hwt.Timeout)) hwt.TimerTask {
	return hwt.TaskFunc(func(timeout hwt.Timeout) error {
		f(timeout)
		return nil
	})
}

// nothing is an empty task.
var nothing = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// pass sleeps for d in fake time, and waits until all due tasks have run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// between asserts that at is neither before earliest nor after latest.
func between(tb testing.TB, at, earliest, latest time.Time, msg string, args ...any) {
	tb.Helper()
	if at.Before(earliest) || at.After(latest) {
		tb.Errorf("%s: %v after the earliest time, want 0 to %v", fmt.Sprintf(msg, args...), at.Sub(earliest), latest.Sub(earliest))
	}
}

// ranOnTime asserts that p ran once, at the deadline or within a tick of it.
func ranOnTime(tb testing.TB, p *probe, deadline time.Time, msg string, args ...any) {
	if !assert.Equal(tb, 1, p.ran.count(), "runs") {
		return
	}
	between(tb, p.ran.at(), deadline, deadline.Add(tick), msg, args...)
}

// worksOnTime asserts that a new timeout expires on time.
func worksOnTime(tb testing.TB, e hwt.Engine, delay time.Duration, msg string, args ...any) {
	p, now := new(probe), time.Now()
	schedule(tb, e, p, delay)
	pass(delay + 2*tick)
	ranOnTime(tb, p, now.Add(delay), msg, args...)
}

// worksOutside asserts on the real clock that a new timeout expires.
func worksOutside(tb testing.TB, e hwt.Engine, what string) {
	p := new(probe)
	schedule(tb, e, p, 0)
	eventually(tb, what, func() bool { return p.ran.count() > 0 })
}

// allRan asserts that each task ran so many times.
func allRan(tb testing.TB, times int, tasks []*probe) {
	for i, p := range tasks {
		assert.Equal(tb, times, p.ran.count(), "runs of task %d", i)
	}
}

// impatient is a testing.TB for broken engines. Their checks need not wait long.
type impatient interface{ patience() time.Duration }

// eventually waits on the real clock until met returns true, and fails the check after ten
// seconds. Ten seconds suffice on a loaded machine. Any goroutine may call it.
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

// same asserts that want and got are identical. same does not read the memory behind
// pointers, since other goroutines may write it.
func same(tb testing.TB, want, got any, what string) bool {
	return assert.True(tb, want == got, "not the same: "+what)
}

// difference returns the number of timeouts of want that got lacks, and the number of the
// others in got.
func difference(want, got []hwt.Timeout) (missing, extra int) {
	count := make(map[hwt.Timeout]int)
	for _, timeout := range want {
		count[timeout]++
	}
	for _, timeout := range got {
		count[timeout]--
	}
	for _, n := range count {
		missing += max(n, 0)
		extra += max(-n, 0)
	}
	return missing, extra
}

// contains asserts that all contains each timeout of part.
func contains(tb testing.TB, all, part []hwt.Timeout) bool {
	missing, _ := difference(part, all)
	return assert.Zero(tb, missing, "missing timeouts")
}

// sameTimeouts asserts that want and got contain the same timeouts, in any order.
func sameTimeouts(tb testing.TB, want, got []hwt.Timeout) bool {
	missing, extra := difference(want, got)
	return assert.True(tb, missing == 0 && extra == 0, "of %d timeouts %d missing, %d extra", len(want), missing, extra)
}

// balanced asserts that the counts add up. No call or task may be in progress.
func balanced(tb testing.TB, e hwt.Engine) hwt.Stats {
	s := e.Stats()
	assert.Equal(tb, s.Accepted, s.Pending+s.Expired+s.Cancelled+s.Unprocessed, "accepted = pending+expired+cancelled+unprocessed: %+v", s)
	assert.Equal(tb, s.Pending, e.Pending(), "Stats and Pending disagree")
	assert.Equal(tb, s.Expired, s.Lateness.Count(), "each that expired has its lateness")
	return s
}

// together runs f on n goroutines that start at nearly the same time, and waits for
// them.
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

// atOnce calls meddle twice, delay from now, in a bubble. The timeouts that prepare
// schedules expire at the same time. One goroutine starts to sleep before prepare and
// one after it, so that either side may be first.
func atOnce(delay time.Duration, prepare, meddle func()) {
	prepared := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		time.Sleep(delay)
		<-prepared // It is closed; for the race detector.
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

// onProcs runs f with several values of GOMAXPROCS, since each value shows other races.
func onProcs(f func(procs int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		f(procs)
	}
}

// upTo returns a random duration below d.
func upTo(d time.Duration) time.Duration { return rand.N(d) }
