package clock

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestFallbackTimerEndsOnce calls run like a runtime timer whose goroutine started before a
// Cancel.
func TestFallbackTimerEndsOnce(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newIdleClock(t)
		var runs atomic.Int32
		task := hwt.TaskFunc(func(hwt.Timeout) error { runs.Add(1); return nil })
		first := c.fallback(task, time.Hour, errors.New("no"))
		assert.True(t, first.Cancel())
		assert.False(t, first.Cancel(), "once")
		first.(*fallbackTimer).run()
		assert.Zero(t, runs.Load(), "it was cancelled")
		assert.True(t, first.IsCancelled() && !first.IsExpired())
		assert.False(t, first.Reset(time.Hour), "it stays cancelled")

		second := c.fallback(task, time.Hour, errors.New("no"))
		assert.True(t, second.Reset(2*time.Hour))
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Zero(t, runs.Load(), "it was reset")
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.EqualValues(t, 1, runs.Load())
		assert.False(t, second.Reset(time.Hour), "it expired")
		assert.False(t, second.Cancel())
		assert.True(t, second.IsExpired() && !second.IsCancelled())
		second.(*fallbackTimer).run()
		assert.EqualValues(t, 1, runs.Load(), "once")
	})
}

func TestFallbackTimerHasADeadline(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newIdleClock(t)
		task := hwt.TaskFunc(func(hwt.Timeout) error { return nil })
		f := c.fallback(task, time.Hour, errors.New("no"))
		due := time.Now().Add(time.Hour)
		time.Sleep(time.Minute)
		assert.Equal(t, due, f.Deadline())
		assert.True(t, f.Reset(time.Minute))
		assert.Equal(t, time.Now().Add(time.Minute), f.Deadline())
		assert.True(t, f.Reset(math.MaxInt64))
		assert.Zero(t, f.Deadline(), "no deadline")
		assert.True(t, f.Cancel())
	})
}
