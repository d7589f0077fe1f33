package keyed_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/runtimetimer"
)

type debouncerOptions = keyed.DebouncerOptions[int, int]

// newDebouncer returns a Debouncer whose calls are recorded, with a wait of a second.
func newDebouncer(tb testing.TB, timer hwt.Timer, o debouncerOptions) (*keyed.Debouncer[int, int], *recorder) {
	tb.Helper()
	r := new(recorder)
	d, err := keyed.NewDebouncer(timer, time.Second, r.fire, &o)
	require.NoError(tb, err)
	return d, r
}

// debounceModel is a Debouncer without concurrency, for one key.
type debounceModel struct {
	wait, maxWait time.Duration // maxWait is 0 for no limit
	edges         keyed.Edges
	bursting      bool
	begin, end    time.Time
	pending       bool
	value         int
	calls         []event
}

// trigger is an event. No burst ends at exactly this time.
func (m *debounceModel) trigger(value int, at time.Time) {
	m.pass(at)
	if !m.bursting {
		m.bursting, m.begin, m.pending = true, at, false
		if m.edges&keyed.Leading != 0 {
			m.calls = append(m.calls, event{1, value, at})
		} else {
			m.pending = true
		}
	} else {
		m.pending = m.edges&keyed.Trailing != 0
	}
	m.value = value
	m.plan(at)
}

// plan determines the end of the burst after an event.
func (m *debounceModel) plan(at time.Time) {
	m.end = at.Add(m.wait)
	if oldest := m.begin.Add(m.maxWait); m.maxWait > 0 && m.end.After(oldest) {
		m.end = oldest
	}
}

// pass ends the bursts that end before a time.
func (m *debounceModel) pass(now time.Time) {
	for m.bursting && m.end.Before(now) {
		if m.pending {
			m.calls = append(m.calls, event{1, m.value, m.end})
		}
		m.bursting = m.pending && m.edges == keyed.Leading|keyed.Trailing
		m.begin, m.pending = m.end, false
		m.plan(m.begin)
	}
}

// TestDebouncerFollowsItsModel has events at multiples of 64 µs. The wait and MaxWait are a
// microsecond longer than a multiple, so that no burst ends at the time of an event.
func TestDebouncerFollowsItsModel(t *testing.T) {
	const unit = 64 * time.Microsecond
	for _, edges := range []keyed.Edges{keyed.Trailing, keyed.Leading, keyed.Leading | keyed.Trailing} {
		for _, units := range []time.Duration{0, 10, 25} {
			t.Run(time.Duration(edges).String()+units.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					timer, err := runtimetimer.New(nil)
					require.NoError(t, err)
					defer timer.Stop()
					m := debounceModel{wait: 10*unit + time.Microsecond, edges: edges}
					if units > 0 {
						m.maxWait = units*unit + time.Microsecond
					}
					r := new(recorder)
					d, err := keyed.NewDebouncer(timer, m.wait, r.fire, &debouncerOptions{Edges: edges, MaxWait: m.maxWait})
					require.NoError(t, err)
					for value := range 50 {
						time.Sleep(unit * rand.N[time.Duration](14))
						synctest.Wait()
						m.trigger(value, time.Now())
						require.NoError(t, d.Trigger(1, value))
					}
					pass(time.Second)
					m.pass(time.Now())
					assert.Equal(t, m.calls, r.take())
					assert.Zero(t, d.Len())
				})
			})
		}
	}
}

func TestDebouncerSeparatesKeysOnAllEngines(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		d, r := newDebouncer(t, timer, debouncerOptions{})
		for n := range 4 {
			for key := range 3 {
				require.NoError(t, d.Trigger(key, 10*key+n))
			}
			pass(900 * time.Millisecond)
			assert.Empty(t, r.take())
		}
		assert.Equal(t, 3, d.Len())
		pass(200 * time.Millisecond)
		assert.ElementsMatch(t, []int{3, 13, 23}, r.values())
		assert.Zero(t, d.Len())
	})
}

func TestDebouncerCallsLeadingEdgeInTrigger(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		d, r := newDebouncer(t, newTimer(t, 8), debouncerOptions{Edges: keyed.Leading})
		require.NoError(t, d.Trigger(1, 1))
		assert.Equal(t, []int{1}, r.values())
		require.NoError(t, d.Trigger(1, 2))
		pass(time.Minute)
		assert.Empty(t, r.values())
		require.NoError(t, d.Trigger(1, 3))
		assert.Equal(t, []int{3}, r.values())
	})
}

// TestDebouncerIsNotStarvedByAQueue has events that come faster than the executor's queue moves.
func TestDebouncerIsNotStarvedByAQueue(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		queue := new(holding)
		d, r := newDebouncer(t, newTimer(t, 8, hashedwheel.Options{Executor: queue}), debouncerOptions{MaxWait: 2 * time.Second})
		for n := range 60 { // 3 s
			require.NoError(t, d.Trigger(1, n))
			pass(50 * time.Millisecond)
		}
		require.Equal(t, 1, queue.release(), "one task, however many events")
		assert.Equal(t, []int{59}, r.values(), "events joined the burst until its call")
	})
}

// TestDebouncerExtendsADueBurst is for a burst that has not reached its greatest age.
func TestDebouncerExtendsADueBurst(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		queue := new(holding)
		d, r := newDebouncer(t, newTimer(t, 8, hashedwheel.Options{Executor: queue}), debouncerOptions{})
		require.NoError(t, d.Trigger(1, 1))
		pass(1100 * time.Millisecond)
		require.True(t, queue.holds())
		require.NoError(t, d.Trigger(1, 2))
		assert.Equal(t, 1, queue.release())
		assert.Empty(t, r.values(), "the wait begins again")
		pass(1100 * time.Millisecond)
		assert.Equal(t, 1, queue.release())
		assert.Equal(t, []int{2}, r.values())
	})
}

func TestRejectedBurstIsCalledLater(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		errFull := errors.New("full")
		var rejects atomic.Bool
		rejects.Store(true)
		executor := hwt.ExecutorFunc(func(task func()) error {
			if rejects.Load() {
				return errFull
			}
			task()
			return nil
		})
		var reported []int
		d, r := newDebouncer(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}), debouncerOptions{
			MaxWait: time.Second,
			ErrorHandler: func(_, value int, err error) {
				assert.ErrorIs(t, err, errFull)
				reported = append(reported, value)
			},
		})
		require.NoError(t, d.Trigger(1, 1))
		pass(1500 * time.Millisecond)
		assert.Equal(t, []int{1}, reported)
		require.NoError(t, d.Trigger(1, 2))
		rejects.Store(false)
		pass(time.Second)
		assert.Equal(t, []int{2}, r.values())
	})
}

// TestLostBurstIsArmedByALaterEvent has a rejection whose retry the timer rejects, too.
func TestLostBurstIsArmedByALaterEvent(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var timer *hashedwheel.Timer
		first := true
		timer = newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1, Executor: hwt.ExecutorFunc(func(task func()) error {
			if first {
				first = false
				other, err := timer.AfterFunc(1500*time.Millisecond, func() {}) // takes the place
				assert.NoError(t, err)
				t.Cleanup(func() { other.Cancel() })
				return errors.New("full")
			}
			task()
			return nil
		})})
		d, r := newDebouncer(t, timer, debouncerOptions{MaxWait: time.Second, ErrorHandler: func(int, int, error) {}})
		require.NoError(t, d.Trigger(1, 1))
		pass(1100 * time.Millisecond)
		require.NoError(t, d.Trigger(1, 2), "its task may be on its way")
		pass(5 * time.Second)
		assert.Empty(t, r.values())
		require.NoError(t, d.Trigger(1, 3))
		pass(tick)
		assert.Equal(t, []int{3}, r.values())
	})
}

func TestTriggerReportsTheTimersErrors(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1})
		d, r := newDebouncer(t, timer, debouncerOptions{})
		require.NoError(t, d.Trigger(1, 1))
		assert.ErrorIs(t, d.Trigger(2, 1), hwt.ErrTooManyPending)
		require.NoError(t, d.Trigger(1, 2), "a known key takes no place")
		pass(2 * time.Second)
		assert.Equal(t, []int{2}, r.values())
		require.NoError(t, d.Trigger(1, 3))
		timer.Stop()
		assert.ErrorIs(t, d.Trigger(1, 4), hwt.ErrStopped)
		assert.ErrorIs(t, d.Trigger(2, 4), hwt.ErrStopped)
		value, ok := d.GetAndDelete(1)
		assert.True(t, ok)
		assert.Equal(t, 3, value, "on an error nothing has changed")
	})
}

func TestDebouncerFlushesDeletesAndCloses(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		d, r := newDebouncer(t, newTimer(t, 8), debouncerOptions{Edges: keyed.Leading | keyed.Trailing})
		for key := range 3 {
			require.NoError(t, d.Trigger(key, key))
			if key < 2 {
				require.NoError(t, d.Trigger(key, 10+key))
			}
		}
		assert.Equal(t, []int{0, 1, 2}, r.values())
		value, ok := d.GetAndDelete(1)
		assert.True(t, ok)
		assert.Equal(t, 11, value)
		_, ok = d.GetAndDelete(2)
		assert.False(t, ok, "it has no call to make")
		require.NoError(t, d.Flush())
		assert.Equal(t, []int{10}, r.values())
		require.NoError(t, d.Trigger(0, 20))
		require.NoError(t, d.Trigger(0, 21))
		assert.Equal(t, []int{20}, r.values(), "a Flush ends the burst")
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
		pass(time.Minute)
		assert.Empty(t, r.values())
		assert.ErrorIs(t, d.Trigger(0, 22), keyed.ErrClosed)
		assert.ErrorIs(t, d.Flush(), keyed.ErrClosed)
	})
}

func TestNewDebouncerRejectsBadArguments(t *testing.T) {
	timer := newTimer(t, 8)
	f := func(int, int) {}
	for name, c := range map[string]struct {
		timer    hwt.Timer
		wait     time.Duration
		callback func(int, int)
		options  debouncerOptions
	}{
		"keyed: NewDebouncer: timer is nil (expected: an hwt.Timer)":                                    {nil, 1, f, debouncerOptions{}},
		"keyed: NewDebouncer: callback is nil (expected: a function)":                                   {timer, 1, nil, debouncerOptions{}},
		"keyed: NewDebouncer: wait is 0s (expected: a positive duration)":                               {timer, 0, f, debouncerOptions{}},
		"keyed: DebouncerOptions.Edges: 4 (expected: 0 for the default, or Leading, Trailing, or both)": {timer, 1, f, debouncerOptions{Edges: 4}},
		"keyed: DebouncerOptions.MaxWait: 1ns (expected: 0 for no limit, or at least the wait of 2ns)":  {timer, 2, f, debouncerOptions{MaxWait: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keyed.NewDebouncer(c.timer, c.wait, c.callback, &c.options)
			assert.EqualError(t, err, name)
			assert.ErrorIs(t, err, hwt.ErrInvalid)
		})
	}
	d, err := keyed.NewDebouncer(timer, time.Second, func(float64, int) {}, nil)
	require.NoError(t, err)
	nan := 0.0
	assert.ErrorIs(t, d.Trigger(nan/nan, 1), keyed.ErrInvalidKey)
}

func TestTriggerIsInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt func(d *keyed.Debouncer[int, int])
		err       error
		calls     []int
	}{
		"by an event": {func(d *keyed.Debouncer[int, int]) { _ = d.Trigger(1, 11) }, nil, []int{12}},
		"by its task": {func(*keyed.Debouncer[int, int]) { pass(2 * time.Second) }, nil, []int{12}},
		"by Close":    {func(d *keyed.Debouncer[int, int]) { d.Close() }, keyed.ErrClosed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer := newTimer(t, 8)
				outer := &interruptedTimer{Timer: timer}
				d, r := newDebouncer(t, outer, debouncerOptions{})
				outer.interrupt = func() { c.interrupt(d) }
				assert.ErrorIs(t, d.Trigger(1, 12), c.err)
				assert.Equal(t, int64(len(c.calls)), timer.Pending())
				pass(2 * time.Second)
				assert.Equal(t, c.calls, r.values())
				assert.Zero(t, d.Len())
			})
		})
	}
}

// TestConcurrentEventsLoseNoLastValue triggers keys from several goroutines, on the real
// clock, with bursts that end meanwhile. The last value of each key must reach the callback.
func TestConcurrentEventsLoseNoLastValue(t *testing.T) {
	const keys, each = 8, 2000
	onProcs(func() {
		var mu sync.Mutex
		last := make(map[int]int)
		timer := fineTimer(t)
		d, err := keyed.NewDebouncer(timer, time.Millisecond, func(key, value int) {
			mu.Lock()
			defer mu.Unlock()
			last[key] = max(last[key], value)
		}, &debouncerOptions{Edges: keyed.Leading | keyed.Trailing, MaxWait: 2 * time.Millisecond})
		require.NoError(t, err)
		var all sync.WaitGroup
		for key := range keys {
			all.Go(func() {
				for n := range each {
					assert.NoError(t, d.Trigger(key, n))
				}
			})
		}
		all.Wait()
		require.NoError(t, d.Flush())
		timer.Stop() // waits for running callbacks
		for key := range keys {
			assert.Equal(t, each-1, last[key], "key %d", key)
		}
	})
}

func TestTriggerInABurstAllocatesNothing(t *testing.T) {
	d, _ := newDebouncer(t, newTimer(t, 8), debouncerOptions{MaxWait: time.Hour})
	require.NoError(t, d.Trigger(1, 1))
	assert.InDelta(t, 0, testing.AllocsPerRun(1000, func() { _ = d.Trigger(1, 2) }), 0.1)
}
