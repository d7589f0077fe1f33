package runtimetimer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// counter is a task that counts its runs.
type counter struct{ n atomic.Int32 }

func (c *counter) Run(hwt.Timeout) error {
	c.n.Add(1)
	return nil
}

func TestGoroutineOfAnOldDeadlineRunsNoTask(t *testing.T) {
	for name, change := range map[string]func(*runtimetimer.Timer, hwt.Timeout) bool{
		"reset":  func(_ *runtimetimer.Timer, n hwt.Timeout) bool { return n.Reset(time.Second) },
		"resets": func(_ *runtimetimer.Timer, n hwt.Timeout) bool { return n.Reset(time.Hour) && n.Reset(time.Second) },
		"cancel": func(_ *runtimetimer.Timer, n hwt.Timeout) bool { return n.Cancel() },
		"cancelled after reset": func(_ *runtimetimer.Timer, n hwt.Timeout) bool {
			return n.Reset(time.Hour) && n.Cancel()
		},
		"stop": func(timer *runtimetimer.Timer, _ hwt.Timeout) bool { return len(timer.Stop()) == 1 },
		"stop after reset": func(timer *runtimetimer.Timer, n hwt.Timeout) bool {
			return n.Reset(time.Hour) && len(timer.Stop()) == 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer := newTimer(t)
				c := new(counter)
				timeout, err := timer.NewTimeout(c, time.Minute)
				require.NoError(t, err)
				late := runtimetimer.FireLate(timeout)
				require.True(t, change(timer, timeout))
				late()
				assert.Zero(t, c.n.Load(), "an old deadline's goroutine ran the task")
				assert.False(t, timeout.IsExpired())

				time.Sleep(time.Second)
				synctest.Wait()
				want := int32(1)
				if timeout.IsCancelled() {
					want = 0
				}
				assert.Equal(t, want, c.n.Load())
				assert.Zero(t, timer.Pending())
			})
		})
	}
}

func TestEntryWithAGoroutineOnItsWayIsNotReused(t *testing.T) {
	timer := newTimer(t)
	for i := range 100 {
		timeout, err := timer.NewTimeout(idle, time.Hour)
		require.NoError(t, err)
		late := runtimetimer.FireLate(timeout)
		defer late()  // otherwise Stop would wait for the goroutine
		if i%2 == 0 { // rearms the runtime timer, so that Cancel stops it in time
			require.True(t, timeout.Reset(time.Hour))
		}
		require.True(t, timeout.Cancel())
		assert.Zero(t, timer.Free())
	}
}

func TestWaitForTheShardIsPartOfTheDelay(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		for n := int64(1); timer.Stats().Expired == 0; n++ {
			require.Less(t, n, int64(100), "the call has waited by then")
			timer.AddBusy(idle, time.Hour, time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		timeout, err := timer.NewTimeout(idle, time.Hour)
		require.NoError(t, err)
		for n := 1; !timeout.IsExpired(); n++ {
			require.Less(t, n, 100, "the call has waited by then")
			runtimetimer.ResetBusy(timeout, time.Hour, time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
		}
	})
}

func TestTimeForALargeBatchIsPartOfTheDelay(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		timer.AddSlowly(idle, time.Hour, time.Minute)
		time.Sleep(time.Hour - 2*time.Minute - 1)
		synctest.Wait()
		assert.Zero(t, timer.Stats().Expired)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.EqualValues(t, 2, timer.Stats().Expired)
	})
}

// The real clock, because fake time does not advance while goroutines wait for a lock.
func TestLatenessIsNeverNegativeAfterAReset(t *testing.T) {
	timer := newTimer(t)
	timeout, err := timer.NewTimeout(idle, time.Hour)
	require.NoError(t, err)
	runtimetimer.FireAcrossReset(timeout)
	assert.EqualValues(t, 1, timer.Stats().Expired)
	assert.GreaterOrEqual(t, timer.Stats().Lateness.Sum, time.Duration(0))
}

// Stop comes after the caller found the timer running, and before it locks its shard.
func TestAddToADrainedShardIsRejected(t *testing.T) {
	timer := newTimer(t)
	assert.True(t, timer.AddToAShard(idle, time.Hour))
	assert.Len(t, timer.Stop(), 1)
	assert.False(t, timer.AddToAShard(idle, time.Hour))
	assert.EqualValues(t, 1, timer.Stats().Accepted)
}

func TestFreeEntriesAreBoundedAndReleasedByStop(t *testing.T) {
	timer := newTimer(t)
	var timeouts []hwt.Timeout
	for range 4 * runtimetimer.MaxFree * timer.Shards() {
		timeout, err := timer.NewTimeout(idle, time.Hour)
		require.NoError(t, err)
		timeouts = append(timeouts, timeout)
	}
	for _, timeout := range timeouts {
		timeout.Cancel()
	}
	assert.Equal(t, runtimetimer.MaxFree*timer.Shards(), timer.Free())
	timer.Stop()
	assert.Zero(t, timer.Free())
}

func TestTaskThatBlocksDelaysNoOther(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		_, err := timer.AfterFunc(time.Second, func() { time.Sleep(time.Hour) })
		require.NoError(t, err)
		c := new(counter)
		_, err = timer.NewTimeout(c, time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 1, c.n.Load())
		time.Sleep(time.Hour)
	})
}

func TestStopWaitsForAStartingTask(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		c := new(counter)
		timeout, err := timer.NewTimeout(c, time.Hour)
		require.NoError(t, err)
		run := runtimetimer.Expire(timeout)
		var stopped atomic.Bool
		go func() {
			timer.Stop()
			stopped.Store(true)
		}()
		synctest.Wait()
		assert.False(t, stopped.Load())
		run()
		synctest.Wait()
		assert.True(t, stopped.Load())
		assert.EqualValues(t, 1, c.n.Load())
	})
}

func TestStopIsBoundedByItsTimeout(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		for _, wait := range []time.Duration{-1, time.Second, time.Minute} {
			var log bytes.Buffer
			timer := newTimer(t, runtimetimer.Options{StopTimeout: wait, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			_, err := timer.AfterFunc(0, func() { time.Sleep(time.Hour) })
			require.NoError(t, err)
			time.Sleep(time.Second)
			begin := time.Now()
			timer.Stop()
			assert.Equal(t, max(wait, 0), time.Since(begin))
			assert.Equal(t, wait > 0, strings.Contains(log.String(), "gave up waiting for running tasks\" timer=runtimetimer running=1"))
			time.Sleep(time.Hour)
		}
	})
}

// The caller is a task with a deep stack.
func TestStopFromATaskDoesNotWait(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer, other := newTimer(t), newTimer(t)
		var took time.Duration
		var deep func(n int)
		deep = func(n int) {
			if n > 0 {
				deep(n - 1)
				return
			}
			begin := time.Now()
			timer.Stop()
			other.Stop()
			took = time.Since(begin)
		}
		_, err := other.AfterFunc(0, func() { time.Sleep(time.Second) })
		require.NoError(t, err)
		_, err = timer.AfterFunc(0, func() { deep(200); time.Sleep(time.Second) })
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		assert.Zero(t, took)
		begin := time.Now()
		timer.Stop()
		assert.Equal(t, time.Second-time.Millisecond, time.Since(begin), "another goroutine waits")
	})
}
