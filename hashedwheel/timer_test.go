package hashedwheel

import (
	"bytes"
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
	"github.com/hashedwheel/hwt/internal/timertest"
)

// newTestTimer makes a timer and sees to its end.
func newTestTimer(t *testing.T, options ...Option) *Timer {
	t.Helper()
	timer, err := New(options...)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func after(t *testing.T, timer *Timer, delay time.Duration, f func()) hwt.Timeout {
	t.Helper()
	timeout, err := timer.AfterFunc(delay, f)
	require.NoError(t, err)
	return timeout
}

func TestStringTellsNameTickBucketsAndPending(t *testing.T) {
	timer := newTestTimer(t, WithName("orders"), WithTickDuration(250*time.Millisecond), WithTicksPerWheel(100))
	assert.Equal(t, "hashedwheel.Timer(orders, tick 250ms, 128 buckets, 0 pending)", timer.String())
	after(t, timer, time.Hour, nothing)
	after(t, timer, time.Hour, nothing)
	assert.Equal(t, "hashedwheel.Timer(orders, tick 250ms, 128 buckets, 2 pending)", fmt.Sprint(timer))
	timer.Stop()
	assert.Contains(t, timer.String(), "0 pending")
}

func TestLogNamesTheTimer(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		timer := newTestTimer(t, WithName("orders"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
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
	synctest.Wait() // each has labelled itself
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

func TestTheFirstTimeoutStartsTheWorker(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		var timers []*Timer
		for range 20 {
			timers = append(timers, newTestTimer(t, WithName("lazy")))
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
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, WithName("labelled"))
		timer.Start()
		timer.Start()
		assert.Equal(t, 1, workers(t, "labelled"))
	})
}

func TestNilTaskDoesNotStartTheWorker(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t)
		_, err := timer.NewTimeout(nil, 0)
		require.ErrorIs(t, err, hwt.ErrNilTask)
		time.Sleep(time.Hour)
		assert.Equal(t, hwt.Stats{}, timer.Stats())
	})
}

func TestStartAfterStopStartsNothing(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, WithName("stopped"))
		timer.Stop()
		timer.Start()
		_, err := timer.AfterFunc(0, nothing)
		require.ErrorIs(t, err, hwt.ErrStopped)
		assert.Zero(t, workers(t, "stopped"))
		assert.Empty(t, timer.Stop())
	})
}

func TestStatsTellEachEndAndEachFault(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTestTimer(t, WithMaxPendingTimeouts(8), WithTickDuration(10*time.Millisecond),
			WithLogger(slog.New(slog.DiscardHandler)))
		after(t, timer, 0, nothing)
		after(t, timer, 0, func() { panic("no good") })
		after(t, timer, 0, runtime.Goexit)
		after(t, timer, 0, func() { time.Sleep(time.Second) }) // slow, since it takes ten ticks
		after(t, timer, time.Hour, nothing)
		after(t, timer, time.Hour, nothing)
		after(t, timer, time.Hour, nothing).Cancel()
		after(t, timer, time.Hour, nothing).Cancel()
		after(t, timer, 500*time.Millisecond, nothing)
		_, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return fmt.Errorf("no good") }), 0)
		require.NoError(t, err)
		_, err = timer.AfterFunc(0, nothing)
		require.ErrorIs(t, err, hwt.ErrTooManyPending)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		timer.Stop()
		assert.Equal(t, hwt.Stats{
			Accepted: 10, Expired: 6, Cancelled: 2, Unprocessed: 2,
			Rejected: 1, Failed: 2, Panics: 1, SlowTasks: 1,
			Ticks:   3, // 1; 50, half a second late; and the present, 101
			WakeUps: 2, // for tick 1; and the worker that went on after the Goexit began with a sleep
			MaxLag:  510 * time.Millisecond,
		}, timer.Stats())
	})
}

// Netty's figures: 100,000 new timeouts a tick.
func TestQuarterOfAMillionAtOnceTakeThreeTicks(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		const n, tick = 250_000, 10 * time.Millisecond
		timer := newTestTimer(t, WithTickDuration(tick))
		var ran atomic.Int64
		for range n {
			after(t, timer, 0, func() { ran.Add(1) })
		}
		for _, want := range []int64{100_000, 200_000, n, n} {
			time.Sleep(tick)
			synctest.Wait()
			assert.Equal(t, want, ran.Load())
		}
		assert.EqualValues(t, 2, timer.Stats().LeftOver)
		assert.Zero(t, timer.Pending())
	})
}

// A million cancelled timeouts would linger for ten ticks in Netty.
func TestCancelledTimeoutsDoNotCountAgainstTheTransfer(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		const tick = 10 * time.Millisecond
		timer := newTestTimer(t, WithTickDuration(tick))
		for range 350_000 {
			after(t, timer, time.Hour, nothing).Cancel()
		}
		ran := false
		after(t, timer, 0, func() { ran = true })
		time.Sleep(tick)
		synctest.Wait()
		assert.True(t, ran)
		assert.Zero(t, timer.Stats().LeftOver)
	})
}

// As long as all are due within a rotation, and one processor makes them. What is
// taken out of a bucket leaves the others in another order.
func TestTimeoutsOfOneTickRunInTheOrderOfSubmission(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	timertest.Bubble(t, func(t *testing.T) {
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
	timertest.Bubble(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, time.Second, time.Minute} {
			var log bytes.Buffer
			timer := newTestTimer(t, WithStopTimeout(wait), WithSlowTaskThreshold(0), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
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
	timertest.Bubble(t, func(t *testing.T) {
		for _, tick := range []time.Duration{time.Hour, 7*24*time.Hour + 1} {
			timer := newTestTimer(t, WithTickDuration(tick), WithTicksPerWheel(4))
			begin := time.Now()
			var at []time.Duration
			for _, delay := range []time.Duration{0, 1, tick - 1, tick, tick + 1, 9 * tick, 5000 * tick} {
				after(t, timer, delay, func() { at = append(at, time.Since(begin)) })
			}
			time.Sleep(5001 * tick)
			synctest.Wait()
			assert.Equal(t, []time.Duration{tick, tick, tick, tick, 2 * tick, 9 * tick, 5000 * tick}, at)
			timer.Stop()
		}
	})
}
