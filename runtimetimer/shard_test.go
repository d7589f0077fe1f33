package runtimetimer_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/timertest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestShardCountIsAPowerOfTwo(t *testing.T) {
	for procs, want := range map[int]int{1: 8, 2: 16, 3: 32, 4: 32, 6: 64, 64: 512} {
		assert.Equal(t, want, runtimetimer.ShardCount(procs), "%d processors", procs)
	}
}

// counter is a task that counts its runs.
type counter struct{ n atomic.Int32 }

func (c *counter) Run(hwt.Timeout) error {
	c.n.Add(1)
	return nil
}

func TestGoroutineOfAnOldDeadlineFindsNothing(t *testing.T) {
	for name, meddle := range map[string]func(*runtimetimer.Timer, hwt.Timeout) bool{
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
			timertest.Bubble(t, func(t *testing.T) {
				timer := newTimer(t)
				c := new(counter)
				timeout, err := timer.NewTimeout(c, time.Minute)
				require.NoError(t, err)
				late := runtimetimer.FireLate(timeout)
				require.True(t, meddle(timer, timeout))
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

func TestArmWithAGoroutineOnItsWayIsNotReused(t *testing.T) {
	timer := newTimer(t)
	for i := range 100 {
		timeout, err := timer.NewTimeout(idle, time.Hour)
		require.NoError(t, err)
		runtimetimer.FireLate(timeout)
		if i%2 == 0 { // sets the runtime's timer again, so that Cancel stops it in time
			require.True(t, timeout.Reset(time.Hour))
		}
		require.True(t, timeout.Cancel())
		assert.Zero(t, timer.Spares())
	}
}

// The caller found the timer running, and Stop came before it got to its shard.
func TestAddToAShardThatWasSweptIsRefused(t *testing.T) {
	timer := newTimer(t)
	assert.True(t, timer.AddToAShard(idle, time.Hour))
	assert.Len(t, timer.Stop(), 1)
	assert.False(t, timer.AddToAShard(idle, time.Hour))
	assert.EqualValues(t, 1, timer.Stats().Accepted)
}

func TestSpareArmsAreBoundedAndGoWithStop(t *testing.T) {
	timer := newTimer(t)
	var timeouts []hwt.Timeout
	for range 4 * runtimetimer.SpareArms * timer.Shards() {
		timeout, err := timer.NewTimeout(idle, time.Hour)
		require.NoError(t, err)
		timeouts = append(timeouts, timeout)
	}
	for _, timeout := range timeouts {
		timeout.Cancel()
	}
	assert.Equal(t, runtimetimer.SpareArms*timer.Shards(), timer.Spares())
	timer.Stop()
	assert.Zero(t, timer.Spares())
}

func TestTaskThatBlocksHoldsUpNoOther(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		_, err := timer.AfterFunc(time.Second, func() { time.Sleep(time.Hour) })
		require.NoError(t, err)
		c := new(counter)
		_, err = timer.NewTimeout(c, time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 1, c.n.Load())
		assert.Empty(t, timer.Stop(), "Stop does not wait for running tasks")
		time.Sleep(2 * time.Hour)
	})
}
