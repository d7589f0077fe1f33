package hwttest

import (
	"context"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// observedChecks test statistics, recorded callers and profiles.
var observedChecks = []check{
	{"LatenessMatchesTheTasks", fake, latenessOfTasks},
	{"ResetsAreCounted", fake, resetsCounted},
	{"CallerIsTheFirstFrameOutside", fake, callerOutside},
	{"CallerIsUnknownInsideATask", fake, callerInsideTask},
	{"ProfilesNameTheTask", fake, profilesNameTask},
}

// latenessOfTasks compares the histogram with the tasks' own measurements.
func latenessOfTasks(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var sum atomic.Int64
	for i := range 50 {
		delay := time.Duration(i) * tick / 7
		deadline := time.Now().Add(delay)
		schedule(tb, e, task(func(hwt.Timeout) { sum.Add(int64(time.Since(deadline))) }), delay)
	}
	schedule(tb, e, nothing, tick).Cancel()
	pass(10 * tick)
	h := balanced(tb, e).Lateness
	assert.Equal(tb, 50, h.Count())
	assert.Equal(tb, sum.Load(), h.Sum)
	assert.LessOrEqual(tb, h.Quantile(1), tick+tick/2)
}

// resetsCounted allows for an estimate.
func resetsCounted(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	assert.Zero(tb, e.Stats().Resets)
	const resets = 100_000
	timeout := schedule(tb, e, nothing, time.Hour)
	for i := range resets {
		timeout.Reset(time.Hour + time.Duration(i))
	}
	timeout.Cancel()
	for i := range resets {
		timeout.Reset(time.Hour + time.Duration(i))
	}
	counted := e.Stats().Resets
	assert.True(tb, counted > resets*8/10 && counted < resets*12/10, "%d resets, counted %d", resets, counted)
}

// callerOutside schedules from within a function of another package.
func callerOutside(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{RecordCallers: true})
	var timeouts []hwt.Timeout
	new(sync.Once).Do(func() {
		timeouts = append(timeouts, schedule(tb, e, nothing, time.Hour))
		timeout, err := e.AfterFunc(tick, doNothing)
		require.NoError(tb, err)
		timeouts = append(timeouts, timeout)
		batch, err := e.NewTimeouts([]hwt.TimerTask{nothing, nothing, nothing}, tick)
		require.NoError(tb, err)
		timeouts = append(timeouts, batch...)
	})
	timeouts[0].Reset(tick)
	pass(3 * tick)
	for _, timeout := range timeouts {
		assert.True(tb, timeout.IsExpired())
		frame, ok := hwt.CallerOf(timeout)
		require.True(tb, ok)
		assert.Contains(tb, frame.Function, "sync.(*Once)")
		assert.Contains(tb, frame.File, "once.go")
		assert.Greater(tb, frame.Line, 0)
	}
	_, ok := hwt.CallerOf(schedule(tb, newTimer.start(tb, Options{}), nothing, tick))
	assert.False(tb, ok, "by default")
}

// callerInsideTask schedules from a task, with no user code on the stack.
func callerInsideTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{RecordCallers: true})
	var inside hwt.Timeout
	schedule(tb, e, task(func(hwt.Timeout) { inside = schedule(tb, e, nothing, tick) }), tick)
	pass(4 * tick)
	require.NotNil(tb, inside)
	frame, ok := hwt.CallerOf(inside)
	assert.False(tb, ok, "%+v", frame)
}

// labels returns the lines of labels in a profile of all goroutines.
func labels(tb testing.TB) string {
	var profile strings.Builder
	require.NoError(tb, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	var lines []string
	for line := range strings.Lines(profile.String()) {
		if strings.Contains(line, "labels:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func profilesNameTask(tb testing.TB, newTimer factory) {
	for name, run := range map[string]hwt.Executor{"inline": nil, "elsewhere": executor(elsewhere)} {
		e := newTimer.start(tb, Options{LabelTasks: true, Executor: run})
		var during, notice, after string
		schedule(tb, e, task(func(hwt.Timeout) { during = labels(tb) }), tick)
		schedule(tb, e, &canceller{then: func(hwt.Timeout) { notice = labels(tb) }}, tick).Cancel()
		pass(3 * tick)
		after = labels(tb)
		first, second := "", ""
		schedule(tb, e, hwt.ContextTaskFunc(func(context.Context, hwt.Timeout) error { first = labels(tb); return nil }), tick)
		schedule(tb, e, hwt.ContextTaskFunc(func(context.Context, hwt.Timeout) error { second = labels(tb); return nil }), 3*tick)
		pass(5 * tick)
		assert.False(tb, first == second, "%s: two tasks, one label: %s", name, first)
		assert.Contains(tb, during, `"hwt_task":"github.com/hashedwheel/hwt/hwttest.`, name) // the inliner decides on the rest
		assert.Contains(tb, during, `"hwt":"`, name)
		assert.Contains(tb, notice, `"hwt_task":"*hwttest.canceller"`, name)
		assert.False(tb, strings.Contains(after, "hwt_task"), name)
		e.Stop()
	}
	schedule(tb, newTimer.start(tb, Options{}), task(func(hwt.Timeout) { assert.False(tb, strings.Contains(labels(tb), "hwt_task"), "by default") }), tick)
	pass(3 * tick)
}
