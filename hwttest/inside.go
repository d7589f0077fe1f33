package hwttest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var insideChecks = []check{
	{"EveryMethodWorksInsideATask", fake, everyMethodInside},
	{"TaskMayScheduleForNow", fake, rearmsNow},
	{"TaskThatSchedulesItselfForeverEndsWithStop", fake, rearmsForever},
}

func everyMethodInside(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	cancelled, moved, created, plain := new(probe), new(probe), new(probe), new(mark)
	toCancel := schedule(tb, e, cancelled, 5*tick)
	toMove := schedule(tb, e, moved, 5*tick)
	var now time.Time
	schedule(tb, e, task(func(timeout hwt.Timeout) {
		now = time.Now()
		e.Start()
		assert.True(tb, toCancel.Cancel())
		assert.True(tb, toMove.Reset(10*tick))
		assert.Equal(tb, 1, e.Pending())
		assert.Equal(tb, 1, e.Stats().Expired)
		assert.True(tb, fmt.Sprint(timeout, e) != "")
		_, err := e.NewTimeout(created, 7*tick)
		assert.NoError(tb, err)
		_, err = e.AfterFunc(8*tick, plain.set)
		assert.NoError(tb, err)
	}), 2*tick)
	pass(30 * tick)
	require.False(tb, now.IsZero(), "the task did not run")
	assert.Zero(tb, cancelled.ran.count())
	ranOnTime(tb, moved, now.Add(10*tick), "reset")
	ranOnTime(tb, created, now.Add(7*tick), "NewTimeout")
	require.Equal(tb, 1, plain.count())
	between(tb, plain.at(), now.Add(8*tick), now.Add(9*tick), "AfterFunc")
	balanced(tb, e)
}

// rearmsNow schedules without delay from inside a task. It must neither starve other
// tasks nor prevent Stop.
func rearmsNow(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	const rounds = 100
	ran := 0
	var again func(hwt.Timeout)
	again = func(hwt.Timeout) {
		if ran++; ran < rounds {
			_, err := e.NewTimeout(task(again), 0)
			assert.NoError(tb, err)
		}
	}
	other, begin := new(probe), time.Now()
	schedule(tb, e, task(again), 0)
	schedule(tb, e, other, 3*tick)
	pass((rounds + 2) * tick)
	assert.Equal(tb, rounds, ran)
	ranOnTime(tb, other, begin.Add(3*tick), "next to a task that schedules itself")
}

// rearmsForever schedules itself until the timer is stopped.
func rearmsForever(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var ran, refused atomic.Int64
	var again func(hwt.Timeout)
	again = func(hwt.Timeout) {
		ran.Add(1)
		if _, err := e.NewTimeout(task(again), tick/3); err != nil {
			assert.ErrorIs(tb, err, hwt.ErrStopped)
			refused.Add(1)
		}
	}
	const loops = 10
	for range loops {
		schedule(tb, e, task(again), tick)
	}
	pass(100*tick + tick/2)
	assert.Greater(tb, ran.Load(), int64(50*loops))
	unprocessed := e.Stop()
	pass(time.Second)
	before := ran.Load()
	assert.Equal(tb, loops, len(unprocessed)+int(refused.Load()), "each loop ends in one place")
	pass(time.Second)
	assert.Equal(tb, before, ran.Load())
	assert.Zero(tb, balanced(tb, e).Pending)
}
