package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/timertest"
)

// times is a schedule of a few times, an hour apart.
type times struct{ left, asked int }

func (s *times) Next(t time.Time) time.Time {
	if s.asked++; s.asked > s.left {
		return time.Time{}
	}
	return t.Add(time.Hour)
}

// TestStopComesBeforeTheLastRunThatHasNotBegun stops between the two steps of a
// run that is due: the schedule has ended, the run not begun.
func TestStopComesBeforeTheLastRunThatHasNotBegun(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		j := New(idleTimer{}).ScheduleFunc(&times{left: 1}, func() { assert.Fail(t, "ran") })
		timeout := j.timeout
		time.Sleep(time.Hour)
		assert.True(t, j.take(timeout))
		j.plan(timeout)
		assert.True(t, j.Next().IsZero())
		assert.True(t, j.Stop(), "a run was due")
		assert.False(t, j.Stop())
		j.run(timeout)
		j.done()
		j.Wait()
	})
}

// TestATimeoutThatLostItsJobAsksNothing has a timeout come due, and its task begin
// after Stop and Wait.
func TestATimeoutThatLostItsJobAsksNothing(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		schedule := &times{left: 9}
		j := New(idleTimer{}).ScheduleFunc(schedule, func() { assert.Fail(t, "ran") })
		timeout := j.timeout
		time.Sleep(time.Hour)
		assert.True(t, j.Stop())
		j.Wait()
		assert.NoError(t, (*jobTask)(j).Run(timeout))
		synctest.Wait()
		assert.Equal(t, 1, schedule.asked)
	})
}

// TestARunWaitsForAWallClockThatWasSetBack has the timeout come due before the time
// that it was for.
func TestARunWaitsForAWallClockThatWasSetBack(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		runs := 0
		j := New(idleTimer{}).ScheduleFunc(&times{left: 9}, func() { runs++ })
		next := j.Next()
		assert.NoError(t, (*jobTask)(j).Run(j.timeout))
		synctest.Wait()
		assert.Zero(t, runs)
		assert.Equal(t, next, j.Next())
		time.Sleep(time.Until(next))
		assert.NoError(t, (*jobTask)(j).Run(j.timeout))
		synctest.Wait()
		assert.Equal(t, 1, runs)
		assert.True(t, j.Stop())
		j.Wait()
	})
}
