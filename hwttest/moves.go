package hwttest

import (
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// movesChecks end and reset timeouts at the times at which an engine moves them: at
// the ends of rotations and of the spans of levels.
var movesChecks = []check{
	{"CancelDuringAMoveHolds", fake, cancelDuringMoves},
	{"ResetDuringAMoveHolds", fake, resetDuringMoves},
	{"StopDuringAMoveReturnsAll", fake, stopDuringMoves},
}

// edges are delays after which engines move timeouts: powers of two ticks.
var edges = []time.Duration{2 * tick, 8 * tick, 64 * tick, 512 * tick, 1024 * tick, 4096 * tick}

// beyond are delays slightly past an edge, at which their timeouts are moved.
func beyond(edge time.Duration) []time.Duration {
	return []time.Duration{edge + 1, edge + tick - 1, edge + tick, edge + edge/2, 2*edge - 1, 2*edge + 3*tick}
}

// scheduleBeyond schedules several timeouts per delay beyond edge.
func scheduleBeyond[T hwt.TimerTask](tb testing.TB, e hwt.Engine, edge time.Duration, newTask func() T) (tasks []T, timeouts []hwt.Timeout) {
	for _, delay := range beyond(edge) {
		some, theirs := scheduleAll(tb, e, 10, delay, newTask)
		tasks, timeouts = append(tasks, some...), append(timeouts, theirs...)
	}
	return tasks, timeouts
}

func cancelDuringMoves(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var all []*fate
	for _, edge := range edges {
		var fates []*fate
		var timeouts []hwt.Timeout
		atOnce(edge,
			func() { fates, timeouts = scheduleBeyond(tb, e, edge, newFate) },
			func() {
				for i, timeout := range timeouts {
					if i%2 == 0 {
						fates[i].cancel(timeout)
					}
				}
			})
		pass(3 * edge)
		for i, f := range fates {
			want := [3]int32{1, 0, 0}
			if i%2 == 0 {
				want = [3]int32{0, 1, 0}
			}
			assert.Equal(tb, want, f.ends(), "ran, cancelled, unprocessed; moved at %v", edge)
		}
		all = append(all, fates...)
	}
	conservation(tb, e, all)
}

func resetDuringMoves(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, edge := range edges {
		for _, delay := range []time.Duration{1, tick, edge / 2, edge, 2*edge + 1} {
			var tasks []*probe
			var timeouts []hwt.Timeout
			begin := time.Now()
			atOnce(edge,
				func() { tasks, timeouts = scheduleBeyond(tb, e, edge, newProbe) },
				func() {
					for _, timeout := range timeouts {
						assert.True(tb, timeout.Reset(delay))
					}
				})
			pass(4 * edge)
			for _, p := range tasks {
				ranOnTime(tb, p, begin.Add(edge+delay), "reset to %v at %v", delay, edge)
			}
		}
	}
	assert.Zero(tb, e.Pending())
	balanced(tb, e)
}

func stopDuringMoves(tb testing.TB, newTimer factory) {
	for _, edge := range edges {
		e := newTimer.start(tb, Options{})
		var fates []*fate
		atOnce(edge,
			func() { fates, _ = scheduleBeyond(tb, e, edge, newFate) },
			func() { stopAndCount(e) })
		pass(3 * edge)
		for _, f := range fates {
			assert.Equal(tb, [3]int32{0, 0, 1}, f.ends(), "ran, cancelled, unprocessed; stopped at %v", edge)
		}
		conservation(tb, e, fates)
	}
}
