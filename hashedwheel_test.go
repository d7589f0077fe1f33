package hwt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// The tests in this file use the exported API for realistic jobs, mostly in fake time.

const defaultTick = 100 * time.Millisecond

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTimer returns a timer that stops at the end of the test.
func newTimer(tb testing.TB, options ...hashedwheel.Options) *hashedwheel.Timer {
	tb.Helper()
	timer, err := hashedwheel.New(&append(options, hashedwheel.Options{})[0])
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

// balanced asserts that every timeout of timer is accounted for.
func balanced(tb testing.TB, timer *hashedwheel.Timer) hwt.Stats {
	tb.Helper()
	s := timer.Stats()
	assert.Equal(tb, s.Accepted, s.Pending+s.Expired+s.Cancelled+s.Unprocessed, "%+v", s)
	return s
}

// withDeadline returns the context of a request, and a function that cancels the context
// and its timeout.
func withDeadline(timer hwt.Timer, d time.Duration) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timeout, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error {
		cancel(context.DeadlineExceeded)
		return nil
	}), d)
	if err != nil {
		return nil, nil, err
	}
	return ctx, func() {
		timeout.Cancel()
		cancel(context.Canceled)
	}, nil
}

func TestOnlySlowRequestsMeetTheirDeadline(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const deadline = 500 * time.Millisecond
		timer := newTimer(t, hashedwheel.Options{TickDuration: 10 * time.Millisecond})
		var answered, timedOut atomic.Int64
		request := func(takes time.Duration) {
			begin := time.Now()
			ctx, done, err := withDeadline(timer, deadline)
			if !assert.NoError(t, err) {
				return
			}
			defer done()
			select {
			case <-time.After(takes):
				assert.LessOrEqual(t, takes, deadline+10*time.Millisecond)
				answered.Add(1)
			case <-ctx.Done():
				assert.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
				assert.GreaterOrEqual(t, time.Since(begin), deadline)
				assert.LessOrEqual(t, time.Since(begin), deadline+10*time.Millisecond)
				timedOut.Add(1)
			}
		}
		var requests sync.WaitGroup
		for i := range 1000 {
			requests.Go(func() { request(time.Duration(i)*time.Millisecond + time.Microsecond) }) // never at the deadline
			time.Sleep(rand.N(5 * time.Millisecond))
		}
		requests.Wait()
		assert.EqualValues(t, 1000, answered.Load()+timedOut.Load())
		assert.GreaterOrEqual(t, answered.Load(), int64(500))
		assert.GreaterOrEqual(t, timedOut.Load(), int64(489))
		s := balanced(t, timer)
		assert.Zero(t, s.Pending)
		assert.Equal(t, timedOut.Load(), s.Expired)
		assert.Equal(t, answered.Load(), s.Cancelled)
	})
}

// shop reserves money for each order, and checks half an hour later whether the
// order was paid.
type shop struct {
	reserved, paid, released int64 // in cents
	late                     time.Duration
}

// order is its own task: no closure, so that a pending check costs one
// allocation.
type order struct {
	shop  *shop
	cents int64
	due   time.Time
}

func (o *order) Run(hwt.Timeout) error {
	o.shop.released += o.cents
	o.shop.late = max(o.shop.late, time.Since(o.due))
	return nil
}

func TestMillionOrderChecks(t *testing.T) {
	const checkAfter = 30 * time.Minute
	orders := 1_000_000
	if testing.Short() {
		orders = 50_000
	}
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		s := new(shop)
		checks := make([]hwt.Timeout, orders)
		for i := range checks {
			o := &order{shop: s, cents: int64(1 + i%10_000), due: time.Now().Add(checkAfter)}
			check, err := timer.NewTimeout(o, checkAfter)
			require.NoError(t, err)
			checks[i] = check
			s.reserved += o.cents
			if i%1000 == 999 {
				time.Sleep(time.Millisecond) // a thousand orders a millisecond
			}
		}
		assert.EqualValues(t, orders, timer.Pending())
		pay := func(from, to int) {
			for i := from; i < to; i++ {
				if i%20 != 0 && checks[i].Cancel() { // 95 of 100 pay
					s.paid += checks[i].Task().(*order).cents
				}
			}
		}
		pay(0, orders/2)
		time.Sleep(15 * time.Minute)
		pay(orders/2, orders)
		time.Sleep(16 * time.Minute)
		synctest.Wait()

		assert.Zero(t, s.reserved-s.paid-s.released, "money neither paid nor released")
		assert.LessOrEqual(t, s.late, defaultTick)
		stats := balanced(t, timer)
		assert.EqualValues(t, orders/20, stats.Expired)
		assert.EqualValues(t, orders/20*19, stats.Cancelled)
		assert.Zero(t, stats.Pending)
		assert.Less(t, stats.Wakeups, int64(100), "the worker sleeps through most of the half hour")
	})
}

// The real clock, because it waits for the garbage collector.
func TestCancelStormLeavesNoMemoryBehind(t *testing.T) {
	timer := newTimer(t, hashedwheel.Options{TickDuration: time.Millisecond})
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	var storm sync.WaitGroup
	const goroutines, each = 4, 50_000
	for range goroutines {
		storm.Go(func() {
			// One half is cancelled in the intake, the other half in the wheel.
			var others []hwt.Timeout
			for i := range each {
				timeout, err := timer.AfterFunc(time.Hour, func() {})
				if !assert.NoError(t, err) {
					return
				}
				if i%2 == 0 {
					others = append(others, timeout)
				} else {
					assert.True(t, timeout.Cancel())
				}
			}
			time.Sleep(20 * time.Millisecond)
			for _, timeout := range others {
				assert.True(t, timeout.Cancel())
			}
		})
	}
	storm.Wait()
	assert.Zero(t, timer.Pending(), "not pending when Cancel returns")
	s := balanced(t, timer)
	assert.EqualValues(t, goroutines*each, s.Cancelled)

	const slack = 2 << 20 // the 100,000 timeouts in the wheel alone would take 4.8 MB
	require.Eventually(t, func() bool { return inUse() < before+slack },
		20*time.Second, 10*time.Millisecond, "cancelled timeouts still take memory")
	runtime.KeepAlive(timer)
}

func TestConnectionsCloseWhenIdleSinceTheirReset(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const idle = time.Minute
		timer := newTimer(t)
		connections := make([]hwt.Timeout, 500)
		closed := make([]time.Time, len(connections))
		silent := make([]time.Time, len(connections))
		for i := range connections {
			timeout, err := timer.AfterFunc(idle, func() { closed[i] = time.Now() })
			require.NoError(t, err)
			connections[i] = timeout
		}
		for range 10_000 {
			time.Sleep(rand.N(50 * time.Millisecond))
			i := rand.N(len(connections))
			if i%10 != 0 && connections[i].Reset(idle) { // one in ten never sends
				silent[i] = time.Now()
			}
		}
		time.Sleep(2 * idle)
		synctest.Wait()
		for i, at := range closed {
			require.False(t, at.IsZero(), "connection %d was never closed", i)
			if !silent[i].IsZero() {
				late := at.Sub(silent[i]) - idle
				assert.True(t, 0 <= late && late <= defaultTick, "closed %v late", late)
			}
		}
		assert.Zero(t, timer.Pending())
		assert.EqualValues(t, len(connections), balanced(t, timer).Accepted, "Reset creates no timeout")
	})
}

// job is a task that knows its deadline, so that another timer can take it over.
type job struct {
	due time.Time
	ran *atomic.Int64
	at  time.Time
}

func (j *job) Run(hwt.Timeout) error {
	j.at = time.Now()
	j.ran.Add(1)
	return nil
}

func TestUnprocessedTimeoutsMoveToAnotherTimer(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		old, heir := newTimer(t), newTimer(t, hashedwheel.Options{Name: "heir"})
		var ran atomic.Int64
		jobs := make([]*job, 10_000)
		var producers sync.WaitGroup
		for part := range 4 {
			producers.Go(func() {
				for i := part; i < len(jobs); i += 4 {
					delay := rand.N(time.Hour)
					jobs[i] = &job{due: time.Now().Add(delay), ran: &ran}
					_, err := old.NewTimeout(jobs[i], delay)
					if errors.Is(err, hwt.ErrStopped) {
						_, err = heir.NewTimeout(jobs[i], delay)
					}
					assert.NoError(t, err)
					time.Sleep(rand.N(time.Second))
				}
			})
		}
		// In the middle of a tick, because a timeout that expires at the same time as
		// Stop may run or be returned.
		time.Sleep(15*time.Minute + defaultTick/2)
		unprocessed := old.Stop()
		assert.NotEmpty(t, unprocessed)
		for _, timeout := range unprocessed {
			j := timeout.Task().(*job)
			_, err := heir.NewTimeout(j, time.Until(j.due))
			require.NoError(t, err)
		}
		producers.Wait()
		time.Sleep(2 * time.Hour)
		synctest.Wait()

		assert.EqualValues(t, len(jobs), ran.Load())
		for i, j := range jobs {
			late := j.at.Sub(j.due)
			require.True(t, 0 <= late && late <= defaultTick, "job %d ran %v late", i, late)
		}
		s := balanced(t, old)
		assert.EqualValues(t, len(unprocessed), s.Unprocessed)
		assert.EqualValues(t, len(jobs), s.Expired+balanced(t, heir).Expired)
	})
}

// The function's name comes from the package documentation.
func TestLeakCheckersCanIgnoreASharedTimersWorker(t *testing.T) {
	worker := goleak.IgnoreAnyFunction("github.com/hashedwheel/hwt/internal/engine.runWorker")
	for name, open := range map[string]func() (hwt.Engine, error){
		"hashed":       func() (hwt.Engine, error) { return hashedwheel.New(nil) },
		"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(nil) },
	} {
		others := goleak.IgnoreCurrent()
		timer, err := open()
		require.NoError(t, err)
		defer timer.Stop()
		_, err = timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
		assert.NoError(t, goleak.Find(others, worker), name)
		assert.ErrorContains(t, goleak.Find(others), "internal/engine.runWorker", name)
	}
}
