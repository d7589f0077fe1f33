package hashedwheel

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/leak"
)

// These tests wait for the garbage collector, which runs on the real clock. They collect
// until the expected event, however long it takes, or for a while to see that there is
// none.

func newLeaky(t *testing.T, options ...Options) *Timer {
	o := append(options, Options{})[0]
	o.TickDuration = time.Millisecond
	timer, err := New(&o)
	require.NoError(t, err)
	return timer
}

// leakCount installs a detector for the test, because leaks of other tests may be reported
// late. leaked returns its number of leaked timers, including duplicates.
func leakCount(t *testing.T) (leaked func() int64) {
	reports(t)
	own := leaks
	return func() int64 { return own.Stats().Leaked }
}

// collectUntil collects garbage until done returns true.
func collectUntil(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	require.Fail(t, "not collected")
}

// collectAndSee collects garbage often enough to find all unreachable timers.
func collectAndSee() {
	for range 5 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
}

func nothing() {}

// reports installs a detector for the test. text returns its reports so far.
func reports(t *testing.T) (text func() string) {
	var mu sync.Mutex
	var all strings.Builder
	before := leaks
	leaks = leak.NewDetector[Timer]("hashedwheel.Timer", &leak.Options{ReleaseMethod: "Stop", SamplingInterval: 1, Listener: func(r leak.Report) {
		mu.Lock()
		defer mu.Unlock()
		all.WriteString(r.String())
	}})
	t.Cleanup(func() { leaks = before })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

func TestNeverStartedTimerIsReportedWithItsCreator(t *testing.T) {
	text := reports(t)
	func() { newLeaky(t) }()
	collectUntil(t, func() bool { return strings.Contains(text(), "LEAK: hashedwheel.Timer.Stop()") })
	assert.Contains(t, text(), "TestNeverStartedTimerIsReportedWithItsCreator")
	assert.Contains(t, text(), "leak_test.go:")
}

func TestIdleTimerIsReportedAndItsWorkerEnds(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	leaked := leakCount(t)
	func() {
		timer := newLeaky(t)
		fired := make(chan struct{})
		_, err := timer.AfterFunc(0, func() { close(fired) })
		require.NoError(t, err)
		<-fired
		timeout, err := timer.AfterFunc(time.Hour, nothing)
		require.NoError(t, err)
		require.True(t, timeout.Cancel())
	}()
	collectUntil(t, func() bool { return leaked() == 1 })
	collectUntil(t, func() bool { return runtime.NumGoroutine() <= goroutines })
}

func TestBusyTimerIsReportedAfterItsLastTimeout(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	leaked := leakCount(t)
	fire := make(chan struct{})
	fired := make(chan struct{})
	func() {
		timer := newLeaky(t)
		_, err := timer.AfterFunc(200*time.Millisecond, func() {
			<-fire
			close(fired)
		})
		require.NoError(t, err)
	}()
	collectAndSee()
	assert.Zero(t, leaked(), "reported while a timeout was pending")
	close(fire)
	<-fired
	collectUntil(t, func() bool { return leaked() == 1 })
	collectUntil(t, func() bool { return runtime.NumGoroutine() <= goroutines })
}

func TestStoppedTimerIsNeverReported(t *testing.T) {
	leaked := leakCount(t)
	func() {
		for range 100 {
			timer := newLeaky(t)
			_, err := timer.AfterFunc(time.Hour, nothing)
			require.NoError(t, err)
			require.Len(t, timer.Stop(), 1)
		}
	}()
	collectAndSee()
	assert.Zero(t, leaked())
}

func TestTimeoutKeepsItsTimerReachable(t *testing.T) {
	leaked := leakCount(t)
	timeout := func() hwt.Timeout {
		timeout, err := newLeaky(t).AfterFunc(time.Hour, nothing)
		require.NoError(t, err)
		return timeout
	}()
	require.True(t, timeout.Cancel())
	collectAndSee()
	assert.Zero(t, leaked(), "reported though a timeout still refers to it")
	_, err := timeout.Timer().NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return nil }), time.Hour)
	assert.NoError(t, err, "the timer works as before")
	assert.Len(t, timeout.Timer().Stop(), 1)
}

func TestWorkersOfAThousandLeakedTimersEnd(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	leaked := leakCount(t)
	func() {
		for range 1000 {
			newLeaky(t).Start()
		}
	}()
	collectUntil(t, func() bool { return leaked() == 1000 })
	collectUntil(t, func() bool { return runtime.NumGoroutine() <= goroutines })
}

func TestWorkerEndsWithoutLeakDetection(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	leaked := leakCount(t)
	func() { newLeaky(t, Options{DisableLeakDetection: true}).Start() }()
	collectUntil(t, func() bool { return runtime.NumGoroutine() <= goroutines })
	collectAndSee()
	assert.Zero(t, leaked())
}

func TestAdvancedLevelShowsRecentUse(t *testing.T) {
	defer leak.SetLevel(leak.SetLevel(leak.LevelAdvanced))
	text := reports(t)
	func() {
		timer := newLeaky(t)
		timeout, err := timer.AfterFunc(time.Hour, nothing)
		require.NoError(t, err)
		timeout.Cancel()
	}()
	collectUntil(t, func() bool { return strings.Contains(text(), "Hint: NewTimeout") })
}

func TestStoppedTimerIsCollectable(t *testing.T) {
	var collected atomic.Bool
	func() {
		self := new(struct{ timer *Timer })
		runtime.AddCleanup(self, func(b *atomic.Bool) { b.Store(true) }, &collected)
		self.timer = newLeaky(t, Options{ErrorHandler: func(hwt.Timeout, error) { self.timer.Pending() }})
		_, err := self.timer.AfterFunc(time.Hour, nothing)
		require.NoError(t, err)
		require.Len(t, self.timer.Stop(), 1)
	}()
	collectUntil(t, collected.Load)
}

// The real clock, because leak checkers examine all goroutines.
func TestNoGoroutineIsLeftAfterTheLastTimeout(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	for _, workers := range []int{1, 3} {
		timer := newLeaky(t, Options{Workers: workers, DisableLeakDetection: true})
		for range 10 * workers {
			_, err := timer.AfterFunc(time.Millisecond, nothing)
			require.NoError(t, err)
		}
		cancelled, err := timer.AfterFunc(time.Hour, nothing)
		require.NoError(t, err)
		require.True(t, cancelled.Cancel())
		require.Eventually(t, func() bool { return goleak.Find(existing) == nil }, 10*time.Second, time.Millisecond)
		runtime.KeepAlive(timer) // or the garbage collector would end the workers
		timer.Stop()
	}
}

func TestStoppedTimerIsCollectedWithItsHandler(t *testing.T) {
	made := func() weak.Pointer[Timer] {
		var timer *Timer
		timer, err := New(&Options{ErrorHandler: func(hwt.Timeout, error) { timer.Pending() }})
		require.NoError(t, err)
		timer.Start()
		timer.Stop()
		return weak.Make(timer)
	}()
	collectUntil(t, func() bool { return made.Value() == nil })
}
