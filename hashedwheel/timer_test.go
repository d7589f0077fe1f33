package hashedwheel

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// newTestTimer returns a timer that stops at the end of the test.
func newTestTimer(t *testing.T, options ...Options) *Timer {
	t.Helper()
	timer, err := New(&append(options, Options{})[0])
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func after(t *testing.T, timer *Timer, delay time.Duration, f func()) hwt.Timeout {
	timeout, err := timer.AfterFunc(delay, f)
	if err != nil { // Helper takes longer than AfterFunc.
		t.Helper()
		require.NoError(t, err)
	}
	return timeout
}

func TestStringHasNameTickBucketsAndPending(t *testing.T) {
	timer := newTestTimer(t, Options{Name: "orders", TickDuration: 250 * time.Millisecond, TicksPerWheel: 100})
	assert.Equal(t, "hashedwheel.Timer(orders, tick 250ms, 128 buckets, 0 pending)", timer.String())
	after(t, timer, time.Hour, nothing)
	after(t, timer, time.Hour, nothing)
	assert.Equal(t, "hashedwheel.Timer(orders, tick 250ms, 128 buckets, 2 pending)", fmt.Sprint(timer))
	timer.Stop()
	assert.Contains(t, timer.String(), "0 pending")
}

func TestLogNamesTheTimer(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		timer := newTestTimer(t, Options{Name: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		after(t, timer, 0, func() { panic("no good") })
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Contains(t, log.String(), "timer=orders")
		assert.Contains(t, log.String(), "no good")
	})
}

// workers counts the worker goroutines of the timers called name.
func workers(t *testing.T, name string) int {
	t.Helper()
	synctest.Wait() // until each has labelled itself
	var profile strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	count := 0
	alike := regexp.MustCompile(`(?m)^(\d+) @ .*\n# labels: .*"hwt":"` + name + `"`)
	for _, group := range alike.FindAllStringSubmatch(profile.String(), -1) {
		n, err := strconv.Atoi(group[1])
		require.NoError(t, err)
		count += n
	}
	return count
}

func TestFirstTimeoutStartsTheWorker(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var timers []*Timer
		for range 20 {
			timers = append(timers, newTestTimer(t, Options{Name: "lazy"}))
		}
		assert.Zero(t, workers(t, "lazy"))
		after(t, timers[0], time.Hour, nothing)
		assert.Equal(t, 1, workers(t, "lazy"))
		after(t, timers[1], time.Hour, nothing)
		assert.Equal(t, 2, workers(t, "lazy"))
		timers[0].Stop()
		timers[1].Stop()
		assert.Zero(t, workers(t, "lazy"))
	})
}

func TestStartStartsTheWorkerAndLabelsIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, Options{Name: "labelled"})
		timer.Start()
		timer.Start()
		assert.Equal(t, 1, workers(t, "labelled"))
	})
}

func TestNilTaskDoesNotStartTheWorker(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t)
		_, err := timer.NewTimeout(nil, 0)
		require.ErrorIs(t, err, hwt.ErrNilTask)
		time.Sleep(time.Hour)
		assert.Equal(t, hwt.Stats{}, timer.Stats())
	})
}

func TestStartAfterStopStartsNothing(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, Options{Name: "stopped"})
		timer.Stop()
		timer.Start()
		_, err := timer.AfterFunc(0, nothing)
		require.ErrorIs(t, err, hwt.ErrStopped)
		assert.Zero(t, workers(t, "stopped"))
		assert.Empty(t, timer.Stop())
	})
}

func TestStatsCountEachEndAndEachFault(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, Options{
			MaxPendingTimeouts: 8,
			TickDuration:       10 * time.Millisecond,
			Logger:             slog.New(slog.DiscardHandler),
		})
		scheduled := make(chan struct{})
		after(t, timer, 0, func() { <-scheduled }) // Holds the worker until the limit is reached.
		synctest.Wait()
		after(t, timer, 0, nothing)
		after(t, timer, 0, func() { panic("no good") })
		after(t, timer, 0, runtime.Goexit)
		after(t, timer, 0, func() { time.Sleep(time.Second) }) // slow: ten ticks
		after(t, timer, time.Hour, nothing)
		after(t, timer, time.Hour, nothing)
		after(t, timer, time.Hour, nothing).Cancel()
		after(t, timer, time.Hour, nothing).Cancel()
		after(t, timer, 500*time.Millisecond, nothing)
		_, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return fmt.Errorf("no good") }), 0)
		require.NoError(t, err)
		_, err = timer.AfterFunc(0, nothing)
		require.ErrorIs(t, err, hwt.ErrTooManyPending)
		close(scheduled)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		timer.Stop()
		stats := timer.Stats()
		assert.EqualValues(t, 7, stats.Lateness.Count())
		assert.GreaterOrEqual(t, stats.Lateness.Quantile(1), 500*time.Millisecond, "behind the slow task")
		assert.NotEmpty(t, stats.SlowestTask)
		assert.LessOrEqual(t, stats.SlowestTaskTime, time.Second)
		stats.Lateness, stats.SlowestTask, stats.SlowestTaskTime = hwt.Histogram{}, "", 0
		assert.Equal(t, hwt.Stats{
			TaskTime: time.Second,
			Accepted: 11, Expired: 7, Cancelled: 2, Unprocessed: 2,
			Rejected: 1, Failed: 2, Panics: 1, SlowTasks: 1,
			Ticks:  2,                      // tick 50, half a second late; tick 100, the present
			MaxLag: 990 * time.Millisecond, // from tick 1 to the present
		}, stats)
	})
}

// All timeouts of the burst are due immediately. As in Netty, a tick drains at most
// 100,000; the others are drained before the next tick.
func TestBurstIsDueWithinTwoTicks(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const n, tick = 250_000, 10 * time.Millisecond
		timer := newTestTimer(t, Options{TickDuration: tick})
		var ran atomic.Int64
		for range n {
			after(t, timer, 0, func() { ran.Add(1) })
		}
		time.Sleep(tick)
		synctest.Wait()
		assert.GreaterOrEqual(t, ran.Load(), int64(100_000))
		time.Sleep(tick)
		synctest.Wait()
		assert.EqualValues(t, n, ran.Load())
		assert.Zero(t, timer.Stats().DeferredTicks)
		assert.Zero(t, timer.Pending())
	})
}

func TestSustainedRateIsOnTimeAtALongTick(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const rate, tick, delay = 20_000, 10 * time.Second, 30 * time.Second
		timer := newTestTimer(t, Options{TickDuration: tick})
		begin, latest := time.Now(), time.Duration(0)
		for range enginetest.Effort(90, 45, 45) * 10 {
			deadline := time.Since(begin) + delay
			for range rate / 10 {
				after(t, timer, delay, func() { latest = max(latest, time.Since(begin)-deadline) })
			}
			time.Sleep(100 * time.Millisecond)
		}
		assert.LessOrEqual(t, latest, tick)
		assert.LessOrEqual(t, timer.Pending(), int64(rate*(delay+tick)/time.Second))
	})
}

// In Netty, a million cancelled timeouts would take the transfers of ten ticks.
func TestTransferSkipsCancelledTimeouts(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const tick = 10 * time.Millisecond
		timer := newTestTimer(t, Options{TickDuration: tick})
		for range 350_000 {
			after(t, timer, time.Hour, nothing).Cancel()
		}
		ran := false
		after(t, timer, 0, func() { ran = true })
		time.Sleep(tick)
		synctest.Wait()
		assert.True(t, ran)
		assert.Zero(t, timer.Stats().DeferredTicks)
	})
}

// This holds for timeouts of one processor, due within a rotation. Removing a timeout
// changes the order of its bucket.
func TestTimeoutsOfOneTickRunInOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t)
		var order []int
		for i := range 1000 {
			after(t, timer, time.Duration(3+8*(i%2))*time.Second, func() { order = append(order, i) })
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Len(t, order, 1000)
		for i := range 500 {
			require.Equal(t, 2*i, order[i])
			require.Equal(t, 2*i+1, order[500+i])
		}
	})
}

func TestStopIsBoundedByItsTimeout(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, time.Second, time.Minute} {
			var log bytes.Buffer
			timer := newTestTimer(t, Options{StopTimeout: cmp.Or(wait, -1), SlowTaskThreshold: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			release := make(chan struct{})
			after(t, timer, 0, func() { <-release })
			time.Sleep(time.Second)
			begin := time.Now()
			timer.Stop()
			assert.Equal(t, wait, time.Since(begin))
			assert.Equal(t, wait > 0, log.Len() > 0)
			close(release)
			synctest.Wait()
		}
	})
}

func TestTickOfHoursWorks(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		for _, tick := range []time.Duration{time.Hour, 7*24*time.Hour + 1} {
			timer := newTestTimer(t, Options{TickDuration: tick, TicksPerWheel: 4})
			begin := time.Now()
			var at []time.Duration
			for _, delay := range []time.Duration{0, 1, tick - 1, tick, tick + 1, 9 * tick, 3000 * tick} {
				after(t, timer, delay, func() { at = append(at, time.Since(begin)) })
			}
			time.Sleep(3001 * tick)
			synctest.Wait()
			assert.Equal(t, []time.Duration{0, 1, tick - 1, tick, tick + 1, 9 * tick, 3000 * tick}, at)
			timer.Stop()
		}
	})
}

// After the sleep, a new timeout is farther from the wheel's last tick than an entry of
// nexts can name.
func TestSleepOfManyRotationsIsNoLag(t *testing.T) {
	for _, size := range []int{1, 8, 512} {
		synctest.Test(t, func(t *testing.T) {
			timer, err := New(&Options{TickDuration: time.Millisecond, TicksPerWheel: size})
			require.NoError(t, err)
			defer timer.Stop()
			timer.Start() // the worker sleeps
			_, err = timer.AfterFunc(0, func() {})
			require.NoError(t, err)
			time.Sleep(48 * time.Hour)
			before := timer.Stats()
			_, err = timer.AfterFunc(10*time.Second, func() {})
			require.NoError(t, err)
			time.Sleep(11 * time.Second)
			s := timer.Stats()
			assert.Less(t, s.MaxLag, time.Millisecond)
			assert.Equal(t, before.Expired+1, s.Expired)
			assert.Equal(t, before.Ticks+1, s.Ticks, "the only wake-up")
		})
	}
}

// Before and after the Cancel, the worker sleeps beyond the range of a search.
func TestCancelOfTheEarliestInALongWheelIsNoLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := New(&Options{TickDuration: 10 * time.Millisecond, TicksPerWheel: 8192})
		require.NoError(t, err)
		defer timer.Stop()
		earliest, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
		_, err = timer.AfterFunc(2*time.Hour, func() {})
		require.NoError(t, err)
		time.Sleep(30 * time.Minute)
		before := timer.Stats()
		require.True(t, earliest.Cancel())
		time.Sleep(29 * time.Minute)
		synctest.Wait()
		s := timer.Stats()
		assert.Less(t, s.MaxLag, 10*time.Millisecond)
		assert.Equal(t, before.Wakeups, s.Wakeups)
		assert.Equal(t, before.Ticks, s.Ticks)
	})
}
