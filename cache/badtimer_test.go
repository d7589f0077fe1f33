package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// stoppedTimer returns a cache on a timer that was stopped after key "a" was set.
func stoppedTimer(t *testing.T, o options) *cache.Cache[string, int] {
	timer := newTimer(t)
	o.Timer = timer
	c := newCache(t, o)
	set(t, c, "a", 1)
	timer.Stop()
	return c
}

func TestStoppedTimerMakesExpiryExact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 2}, {Sliding: time.Hour}} {
			var ends ends
			o.OnEvict = ends.add
			c := stoppedTimer(t, o)
			pass(time.Minute - 1)
			assert.True(t, holds(c, "a", 1))
			pass(1)
			assert.False(t, has(c, "a"), "no timer removes the entry")
			_, ok := c.TTL("a")
			assert.False(t, ok)
			for range c.All() {
				t.Error("it has expired")
			}
			assert.False(t, c.Delete("a"))
			assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
		}
	})
}

// slowLookup is a timer that calls pause once, when a lookup has loaded an entry and asks
// whether the timer was stopped. It answers yes, so that the lookup reads the clock.
type slowLookup struct {
	hwt.Timer
	pause func()
}

func (s *slowLookup) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	t, err := s.Timer.NewTimeout(task, delay)
	return slowTimeout{t, s}, err
}

type slowTimeout struct {
	hwt.Timeout
	timer *slowLookup
}

func (s slowTimeout) IsCancelled() bool {
	pause := s.timer.pause
	if pause == nil {
		return s.Timeout.IsCancelled()
	}
	s.timer.pause = nil
	pause()
	return true
}

func TestSlowLookupFindsTheEntrySetMeanwhile(t *testing.T) {
	for value, write := range map[int]func(c *cache.Cache[string, int]) bool{
		1: func(c *cache.Cache[string, int]) bool { return c.Touch("a") },
		2: func(c *cache.Cache[string, int]) bool { return c.Set("a", 2) == nil },
	} {
		bubble(t, func(t *testing.T) {
			timer := &slowLookup{Timer: newTimer(t)}
			c := newCache(t, options{Timer: timer})
			set(t, c, "a", 1)
			pass(time.Minute / 2)
			timer.pause = func() {
				assert.True(t, write(c))
				pass(time.Minute * 3 / 4)
			}
			assert.True(t, holds(c, "a", value), "the key had an entry at all times")
		})
	}
}

func TestClearReportsExpiredEntriesAsExpired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 2}, {Sliding: time.Hour}} {
			var ends ends
			o.OnEvict = ends.add
			c := stoppedTimer(t, o)
			pass(time.Minute)
			c.Clear()
			assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
			assert.EqualValues(t, 1, c.Stats().Expirations)
			c = stoppedTimer(t, o)
			pass(time.Minute)
			c.Close()
			assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
		}
	})
}

func TestCloseReportsEntriesThatAreStillFoundAsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ends ends
		c := newCache(t, options{Timer: newTimer(t), OnEvict: ends.add})
		set(t, c, "a", 1)
		time.Sleep(time.Minute)
		require.True(t, holds(c, "a", 1), "the timer is late by a tick")
		c.Close()
		assert.Equal(t, []end{{"a", 1, cache.ReasonClosed}}, ends.take())
	})
}

func TestAfterAStopASetFailsAndRemovesTheOldValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 2}, {Sliding: time.Hour}} {
			var ends ends
			o.OnEvict = ends.add
			c := stoppedTimer(t, o)
			assert.ErrorIs(t, c.Set("b", 2), hwt.ErrStopped)
			assert.True(t, holds(c, "a", 1))
			assert.ErrorIs(t, c.Set("a", 2), hwt.ErrStopped)
			assert.False(t, has(c, "a"), "the old value is removed")
			assert.Equal(t, []end{{"a", 1, cache.ReasonReplaced}}, ends.take())
			value, err := c.GetOrFetch(t.Context(), "a", fetched(3))
			assert.NoError(t, err)
			assert.Equal(t, 3, value, "fetched, but not stored")
			assert.Zero(t, c.Len())
		}
	})
}

func TestTimerThatRejectsAllTimeoutsIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		timer.Stop()
		c := newCache(t, options{Timer: timer})
		assert.ErrorIs(t, c.Set("a", 1), hwt.ErrStopped)
		assert.Zero(t, c.Len())
	})
}

func TestFullTimerRejectsOnlyTheFirstEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t, hashedwheel.Options{MaxPendingTimeouts: 1})
		other, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
		for _, limit := range []int{0, 1} {
			c := newCache(t, options{Timer: timer, Limit: limit})
			assert.ErrorIs(t, c.Set("a", 1), hwt.ErrTooManyPending)
			assert.Zero(t, c.Len())
		}
		other.Cancel()
		c := newCache(t, options{Timer: timer, Limit: 2})
		for i := range 100 {
			set(t, c, fmt.Sprint(i), i)
		}
		assert.Equal(t, 2, c.Len(), "the limit evicts before the timer rejects")
	})
}

// hog takes its timer's only place whenever a task runs.
type hog struct {
	timer *hashedwheel.Timer
	other hwt.Timeout
}

func (h *hog) Execute(task func()) error {
	if h.other == nil {
		h.other, _ = h.timer.AfterFunc(time.Hour, func() {})
	}
	task()
	return nil
}

func TestExpiryIsExactOnAFullTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		h := new(hog)
		h.timer = newTimer(t, hashedwheel.Options{MaxPendingTimeouts: 1, Executor: h})
		c := newCache(t, options{Timer: h.timer, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		setFor(t, c, "a", 1, time.Second)
		setFor(t, c, "b", 2, 2*time.Second)
		pass(time.Second + late) // when the alarm fires, the timer rejects the next one
		assert.False(t, has(c, "a"))
		assert.True(t, has(c, "b"))
		pass(time.Second)
		assert.False(t, has(c, "b"))
		assert.Equal(t, 2, c.Len(), "but no timer removes them")
		assert.ErrorIs(t, c.Set("c", 3), hwt.ErrTooManyPending)
		assert.Equal(t, 1, strings.Count(log.String(), "lookups compare deadlines"), log.String())

		h.other.Cancel()
		set(t, c, "c", 3)
		pass(time.Second)
		assert.Equal(t, 1, c.Len(), "the timer expires entries again")
		assert.True(t, holds(c, "c", 3))
		pass(time.Minute + late)
		assert.Zero(t, c.Len())
	})
}

func TestExecutorThatRejectsMakesExpiryExact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		var open atomic.Bool
		timer := newTimer(t, hashedwheel.Options{
			ErrorHandler: func(_ hwt.Timeout, err error) { t.Error(err) },
			Executor: executor(func(task func()) error {
				if !open.Load() {
					return errors.New("pool is full")
				}
				task()
				return nil
			}),
		})
		c := newCache(t, options{Timer: timer, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		setFor(t, c, "a", 1, time.Second)
		pass(time.Second + late)
		assert.False(t, has(c, "a"))
		assert.Equal(t, 1, c.Len())
		pass(3 * time.Second)
		assert.Equal(t, 1, strings.Count(log.String(), "pool is full"), log.String())
		open.Store(true)
		pass(time.Second + late)
		assert.Zero(t, c.Len())
	})
}

// TestDeniedEntryIsNotFoundAgain lets an entry expire while OnEvict delays the end of a
// retry, after which the timer expires entries again.
func TestDeniedEntryIsNotFoundAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls atomic.Int64
		var c *cache.Cache[string, int]
		timer := newTimer(t, hashedwheel.Options{Executor: executor(func(task func()) error {
			if calls.Add(1) == 1 {
				return errors.New("pool is full")
			}
			task()
			assert.False(t, has(c, "b"), "a lookup has denied it")
			return nil
		})})
		c = newCache(t, options{Timer: timer, OnEvict: func(key string, _ int, _ cache.Reason) {
			if key == "a" {
				time.Sleep(time.Second)
				assert.False(t, has(c, "b"))
			}
		}})
		setFor(t, c, "a", 1, time.Second)
		setFor(t, c, "b", 2, 2500*time.Millisecond)
		setFor(t, c, "c", 3, 4*time.Second)
		pass(3*time.Second + 2*late)
		assert.Equal(t, 1, c.Len())
		assert.EqualValues(t, 3, calls.Load())
		pass(time.Second)
		assert.Zero(t, c.Len())
	})
}

type executor func(task func()) error

func (f executor) Execute(task func()) error { return f(task) }

func TestCacheFromOutsideTheBubbleIsRejected(t *testing.T) {
	c := newCache(t, options{Limit: 2})
	set(t, c, "a", 1)
	bubble(t, func(t *testing.T) {
		assert.False(t, c.Touch("a"))
		assert.EqualError(t, c.Set("b", 2),
			"cache: made outside this synctest bubble: make the cache inside it")
		assert.Error(t, c.SetWithTTL("a", 2, cache.NoExpiry))
	})
	assert.Zero(t, c.Len())
	set(t, c, "b", 2)
	set(t, c, "c", 3)
	set(t, c, "d", 4)
	assert.Equal(t, 2, c.Len())
}

// wrappingTimer wraps each task, as metrics and tracing do.
type wrappingTimer struct{ hwt.Timer }

func (w wrappingTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return w.Timer.NewTimeout(hwt.TaskFunc(func(t hwt.Timeout) error { return task.Run(t) }), delay)
}

func TestTimerThatWrapsTasksExpiresEveryEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{Timer: wrappingTimer{newTimer(t)}, Limit: 2})
		set(t, c, "a", 1)
		set(t, c, "a", 2)
		set(t, c, "b", 3)
		pass(2 * time.Minute)
		assert.Zero(t, c.Len())
		assert.EqualValues(t, 2, c.Stats().Expirations)
	})
}

// broken is a timer that panics.
type broken struct{ hwt.Timer }

func (broken) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) { panic("broken") }

// fixed is a timer whose timeouts panic if they are reset.
type fixed struct{ hwt.Timer }

type fixedTimeout struct{ hwt.Timeout }

func (fixedTimeout) Reset(time.Duration) bool { panic("broken") }

func (f fixed) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	timeout, err := f.Timer.NewTimeout(task, delay)
	return fixedTimeout{timeout}, err
}

func TestTimerThatPanicsLeavesNoLock(t *testing.T) {
	c := newCache(t, options{Timer: broken{}})
	for range 2 {
		assert.ErrorAs(t, c.Set("a", 1), new(*hwt.PanicError))
	}
	assert.Zero(t, c.Len())

	c = newCache(t, options{Timer: fixed{newTimer(t)}})
	set(t, c, "a", 1)
	for _, key := range []string{"a", "b"} {
		assert.ErrorAs(t, c.SetWithTTL(key, 2, time.Second), new(*hwt.PanicError))
	}
	assert.Zero(t, c.Len())
}
