package hwttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var factChecks = []check{
	{"TimeoutKnowsItsTimerAndTask", fake, knowsTimerAndTask},
	{"TaskReceivesItsCallersHandle", fake, oneHandle},
	{"TimeoutDescribesItselfInEveryState", fake, describesItself},
	{"NilTaskIsRejected", fake, nilTask},
	{"AfterFuncIsNewTimeoutForAFunction", fake, afterFunc},
	{"StartMayBeCalledAnyTime", fake, startAnyTime},
}

func knowsTimerAndTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	p := new(probe)
	var inside hwt.Timeout
	timeout := schedule(tb, e, p, time.Hour)
	schedule(tb, e, task(func(t hwt.Timeout) { inside = t }), 0)
	own := schedule(tb, e, nothing, time.Hour)

	same(tb, e, timeout.Timer(), "Timer")
	same(tb, p, timeout.Task(), "Task")
	assert.False(tb, timeout == own, "two timeouts are one")
	pass(2 * tick)
	require.NotNil(tb, inside, "the task did not run")
	same(tb, e, inside.Timer(), "Timer, seen from inside")
	timeout.Cancel()
	same(tb, p, timeout.Task(), "Task, once cancelled")
	same(tb, e, timeout.Timer(), "Timer")
}

func oneHandle(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var inside []hwt.Timeout
	note := hwt.TaskFunc(func(t hwt.Timeout) error { inside = append(inside, t); return nil })
	first := schedule(tb, e, note, 0)
	pass(2 * tick)
	second := schedule(tb, e, note, time.Hour)
	require.True(tb, second.Reset(0))
	pass(2 * tick)
	sameTimeouts(tb, []hwt.Timeout{first, second}, inside)

	third := schedule(tb, e, note, time.Hour)
	sameTimeouts(tb, []hwt.Timeout{third}, e.Stop())
}

func doNothing() {}

func describesItself(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	far := schedule(tb, e, nothing, time.Hour)
	gone := schedule(tb, e, nothing, time.Hour)
	gone.Cancel()
	over := schedule(tb, e, nothing, 0)
	named, err := e.AfterFunc(time.Hour, doNothing)
	require.NoError(tb, err)
	pass(2 * tick)

	assert.Contains(tb, fmt.Sprint(named), "hwttest.doNothing (")
	for _, timeout := range []hwt.Timeout{far, gone, over} {
		_, ok := timeout.(fmt.Stringer)
		require.True(tb, ok, "%T has no String", timeout)
	}
	assert.Contains(tb, fmt.Sprint(far), "in 59m59.98s")
	assert.False(tb, strings.Contains(fmt.Sprint(far), "cancelled"), "%v", far)
	assert.Contains(tb, fmt.Sprint(gone), "cancelled")
	assert.Contains(tb, fmt.Sprint(over), "expired")
	assert.Contains(tb, fmt.Sprint(over), "ago")
}

func nilTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 1})
	for range 3 {
		timeout, err := e.NewTimeout(nil, time.Second)
		require.ErrorIs(tb, err, hwt.ErrNilTask)
		require.Nil(tb, timeout)
		timeout, err = e.NewTimeout(hwt.TaskFunc(nil), time.Second)
		require.ErrorIs(tb, err, hwt.ErrNilTask)
		require.Nil(tb, timeout)
		timeout, err = e.AfterFunc(time.Second, nil)
		require.ErrorIs(tb, err, hwt.ErrNilTask)
		require.Nil(tb, timeout)
	}
	schedule(tb, e, nothing, time.Second) // The rejected ones took no place.
	assert.Equal(tb, 1, e.Pending())
}

func afterFunc(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var ran, never mark
	begin := time.Now()
	timeout, err := e.AfterFunc(time.Second, ran.set)
	require.NoError(tb, err)
	cancelled, err := e.AfterFunc(time.Second, never.set)
	require.NoError(tb, err)

	assert.True(tb, cancelled.Cancel())
	assert.False(tb, timeout.IsExpired())
	pass(time.Second + 2*tick)
	require.Equal(tb, 1, ran.count())
	between(tb, ran.at(), begin.Add(time.Second), begin.Add(time.Second+tick), "AfterFunc")
	assert.True(tb, timeout.IsExpired())
	assert.Zero(tb, never.count())
}

func startAnyTime(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	e.Start()
	e.Start()
	pass(time.Second + tick/3)
	p := new(probe)
	begin := time.Now()
	schedule(tb, e, p, tick)
	e.Start()
	pass(3 * tick)
	ranOnTime(tb, p, begin.Add(tick), "after Start")
	e.Stop()
	e.Start()
	_, err := e.NewTimeout(nothing, 0)
	assert.ErrorIs(tb, err, hwt.ErrStopped, "Start does not revive")
}
