package shop_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

const tick = time.Millisecond

func newWheel() hwt.Engine {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick, TicksPerWheel: 512})
	if err != nil {
		panic(err)
	}
	return timer
}

// config is a small shop.
func config() shop.Config {
	return shop.Config{Orders: 2000, CheckAfter: time.Minute, Paid: 90, Producers: 2}
}

// simulate runs a shop in a bubble.
func simulate(t *testing.T, c shop.Config, newTimer func() hwt.Engine) (report *shop.Report, err error) {
	t.Helper()
	enginetest.Bubble(t, func(t *testing.T) {
		report, err = shop.New(c, newTimer()).Run(t.Context())
	})
	return report, err
}

func TestEveryOrderEnds(t *testing.T) {
	r, err := simulate(t, config(), newWheel)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.EqualValues(t, 2000, r.Created)
	assert.EqualValues(t, 2000, r.Paid+r.Released)
	assert.InDelta(t, 1800, r.Paid, 60)
	assert.Zero(t, r.Unprocessed)
	assert.Zero(t, r.Rest())
	assert.LessOrEqual(t, r.Latest, tick)
	assert.False(t, r.Interrupted)
}

func TestAllOrNoCustomersPay(t *testing.T) {
	for paid, want := range map[float64]int64{0: 0, 100: 2000} {
		c := config()
		c.Paid = paid
		r, err := simulate(t, c, newWheel)
		require.NoError(t, err)
		require.NoError(t, r.Err())
		assert.Equal(t, want, r.Paid+r.PaidTooLate, "at %v %%", paid)
	}
}

func TestOneOrderIsCountedInTheSingular(t *testing.T) {
	text := (&shop.Report{Balance: shop.Balance{Created: 1}, PaidTooLate: 1}).Text()
	assert.Contains(t, text, "1 order, each")
	assert.Contains(t, text, "1 payment came too late")
}

func TestMoreProducersThanOrdersWork(t *testing.T) {
	c := config()
	c.Orders, c.Producers = 3, 100
	r, err := simulate(t, c, newWheel)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.EqualValues(t, 3, r.Created)
}

// The checks fire after half of their time, when half of the customers have not paid.
func TestLatePaymentsAreRejected(t *testing.T) {
	c := config()
	c.Producers, c.Paid = 1, 100
	r, err := simulate(t, c, broken(func(_ int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration) {
		return task, delay / 2
	}))
	require.NoError(t, err)
	assert.InDelta(t, 1000, r.PaidTooLate, 100)
	assert.Equal(t, r.Released, r.PaidTooLate, "all customers tried")
	assert.EqualValues(t, 2000, r.Paid+r.Released)
	assert.Contains(t, r.Text(), "payments came too late")
}

func TestInterruptLeavesTheRestUnprocessed(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := shop.New(config(), newWheel()).Run(ctx)
		require.NoError(t, err)
		require.NoError(t, r.Err())
		assert.True(t, r.Interrupted)
		assert.InDelta(t, 900, r.Paid, 100)
		assert.Zero(t, r.Released)
		assert.Equal(t, r.Created, r.Paid+r.Unprocessed)
		assert.Zero(t, r.Rest())
		assert.Less(t, r.Elapsed, 31*time.Second)
	})
}

func TestInterruptBeforeTheFirstOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := shop.New(config(), newWheel()).Run(ctx)
	require.NoError(t, err)
	assert.Zero(t, r.Created)
	assert.True(t, r.Interrupted)
}

func TestProgressMayBeReadAtAnyTime(t *testing.T) {
	c := config()
	c.CheckAfter = 20 * time.Millisecond
	s := shop.New(c, newWheel())
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			assert.GreaterOrEqual(t, s.Progress().Rest(), int64(0))
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	_, err := s.Run(t.Context())
	close(done)
	wg.Wait()
	assert.NoError(t, err)
	assert.Zero(t, s.Progress().Rest())
}

// faulty is a timer that sometimes breaks a promise.
type faulty struct {
	hwt.Engine
	calls int
	fault func(calls int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration)
}

func (f *faulty) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	f.calls++
	task, delay = f.fault(f.calls, task, delay)
	if task == nil {
		return nil, errors.New("no room")
	}
	return f.Engine.NewTimeout(task, delay)
}

// broken returns a function that makes a faulty timer.
func broken(fault func(int, hwt.TimerTask, time.Duration) (hwt.TimerTask, time.Duration)) func() hwt.Engine {
	return func() hwt.Engine { return &faulty{Engine: newWheel(), fault: fault} }
}

// single is a shop in which no customer pays. It has one producer, because faulty timers
// are not safe for concurrent use.
func single() shop.Config {
	c := config()
	c.Orders, c.Producers, c.Paid = 10, 1, 0
	return c
}

func TestTimersThatBreakAPromiseAreDetected(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(int, hwt.TimerTask, time.Duration) (hwt.TimerTask, time.Duration)
		want  string
	}{
		"early": {func(n int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration) {
			if n == 3 {
				delay -= 5 * tick
			}
			return task, delay
		}, "1 checks fired early"},
		"twice": {func(n int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration) {
			if n != 3 {
				return task, delay
			}
			return hwt.TaskFunc(func(x hwt.Timeout) error { return errors.Join(task.Run(x), task.Run(x)) }), delay
		}, "1 orders ended twice"},
		"lost": {func(n int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration) {
			if n == 3 {
				delay += time.Hour
			}
			return task, delay
		}, "1 checks never fired"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := simulate(t, single(), broken(c.fault))
			require.NoError(t, err)
			assert.EqualError(t, r.Err(), c.want)
		})
	}
}

func TestRejectionByTheTimerIsAnError(t *testing.T) {
	r, err := simulate(t, single(), broken(func(n int, task hwt.TimerTask, delay time.Duration) (hwt.TimerTask, time.Duration) {
		if n == 3 {
			return nil, 0
		}
		return task, delay
	}))
	assert.EqualError(t, err, "scheduling a check: no room")
	assert.Zero(t, r.Rest())
}

func TestReportIsReadableText(t *testing.T) {
	r, err := simulate(t, config(), newWheel)
	require.NoError(t, err)
	text := r.Text()
	for _, want := range []string{"2,000 orders", "check 1m0s later", "created", "paid", "released", "p50", "p99.9", "0 were early"} {
		assert.Contains(t, text, want)
	}
	assert.LessOrEqual(t, strings.Count(text, "\n"), 23, "lines of a terminal")
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len(line), 81, line)
	}
}
