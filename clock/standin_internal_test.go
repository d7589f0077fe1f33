package clock

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/timertest"
)

// TestAStandInEndsOnce calls run as a goroutine of the runtime timer's does that
// was on its way already.
func TestAStandInEndsOnce(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		c := New(idleTimer{}, WithErrorHandler(func(error) {}))
		var runs atomic.Int32
		task := hwt.TaskFunc(func(hwt.Timeout) error { runs.Add(1); return nil })
		first := c.standIn(task, time.Hour, errors.New("no"))
		assert.True(t, first.Cancel())
		assert.False(t, first.Cancel(), "once")
		first.(*standIn).run()
		assert.Zero(t, runs.Load(), "it was cancelled")
		assert.True(t, first.IsCancelled() && !first.IsExpired())
		assert.False(t, first.Reset(time.Hour), "it never revives")

		second := c.standIn(task, time.Hour, errors.New("no"))
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
		second.(*standIn).run()
		assert.EqualValues(t, 1, runs.Load(), "once")
	})
}
