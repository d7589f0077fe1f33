package clock

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// times is a schedule of a few times, an hour apart.
type times struct{ left, calls int }

func (s *times) Next(t time.Time) time.Time {
	if s.calls++; s.calls > s.left {
		return time.Time{}
	}
	return t.Add(time.Hour)
}

func TestJobAndSpecAreSmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.EqualValues(t, 160, unsafe.Sizeof(Job{}))
		assert.EqualValues(t, 64, unsafe.Sizeof(Spec{}))
	}
}

// newIdleJob returns a job on an idleTimer.
func newIdleJob(t *testing.T, schedule Schedule, f func()) *Job {
	t.Helper()
	j, err := newIdleClock(t).ScheduleFunc(schedule, f, nil)
	require.NoError(t, err)
	return j
}

// TestStopPreventsTheLastDueRun stops the job after the end of its schedule and before the
// last run.
func TestStopPreventsTheLastDueRun(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		j := newIdleJob(t, &times{left: 1}, func() { assert.Fail(t, "ran") })
		time.Sleep(time.Hour)
		j.timeout.(*idleTimeout).expired = true
		due, ok := j.expire()
		assert.True(t, ok)
		assert.Equal(t, 1, j.plan(due))
		assert.True(t, j.Next().IsZero())
		assert.True(t, j.Stop(), "a run was due")
		assert.False(t, j.Stop())
		j.run(1)
		j.done()
		j.Wait()
	})
}

// TestTaskAfterStopDoesNotCallTheSchedule runs the task of an expired timeout
// after Stop and Wait.
func TestTaskAfterStopDoesNotCallTheSchedule(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		schedule := &times{left: 9}
		j := newIdleJob(t, schedule, func() { assert.Fail(t, "ran") })
		timeout := j.timeout
		time.Sleep(time.Hour)
		assert.True(t, j.Stop())
		j.Wait()
		expire(t, timeout)
		synctest.Wait()
		assert.Equal(t, 1, schedule.calls)
	})
}

// TestRunWaitsAfterTheWallClockWasSetBack makes the timeout expire before the time of
// the run.
func TestRunWaitsAfterTheWallClockWasSetBack(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		runs := 0
		j := newIdleJob(t, &times{left: 9}, func() { runs++ })
		next := j.Next()
		expire(t, j.timeout)
		synctest.Wait()
		assert.Zero(t, runs)
		assert.Equal(t, next, j.Next())
		time.Sleep(time.Until(next))
		expire(t, j.timeout)
		synctest.Wait()
		assert.Equal(t, 1, runs)
		assert.True(t, j.Stop())
		j.Wait()
	})
}
