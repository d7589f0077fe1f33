package hwttest

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var allChecks = []check{
	{"AllYieldsThePendingTimeouts", fake, allPending},
	{"AllYieldsEachOnceWhileTimeoutsMove", fake, allWhileMoving},
	{"AllYieldsTimeoutsThatBecomeDueMeanwhile", fake, allWhileDue},
	{"AllMayBeUsedInsideATask", fake, allInsideTask},
	{"AllMayBeNestedAndLeft", fake, allNested},
	{"AllBlocksNoOtherCall", fake, allHoldsUpNothing},
	{"AllTakesConstantMemory", realClock, allInConstantMemory},
	{"AllAgainstRaces", realClock, allAgainstRaces},
	{"AllYieldsABacklog", realClock, allWithBacklog},
}

// collect returns the timeouts that All yields.
func collect(e hwt.Engine) []hwt.Timeout { return slices.Collect(e.All()) }

func allPending(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	assert.Empty(tb, collect(e), "unused")
	_, soon := scheduleAll(tb, e, 40, tick, newProbe)
	_, far := scheduleAll(tb, e, 40, 100*time.Hour, newProbe)
	endless := schedule(tb, e, nothing, 1<<63-1)
	gone := schedule(tb, e, nothing, time.Hour)
	require.True(tb, gone.Cancel())
	rest := append(far, endless)
	sameTimeouts(tb, append(slices.Clone(soon), rest...), collect(e))

	pass(3 * tick)
	sameTimeouts(tb, rest, collect(e))
	for i, timeout := range rest {
		require.True(tb, timeout.Reset(time.Duration(i+2)*tick))
	}
	sameTimeouts(tb, rest, collect(e))
	pass(time.Hour)
	assert.Empty(tb, collect(e), "all have expired")
	schedule(tb, e, nothing, time.Hour)
	e.Stop()
	assert.Empty(tb, collect(e), "stopped")
}

// tally counts how many times All yielded each timeout.
type tally map[hwt.Timeout]int

// once asserts that All yielded each of want once, and no timeout twice.
func (all tally) once(tb testing.TB, want []hwt.Timeout) {
	missed, twice := 0, 0
	for _, timeout := range want {
		if all[timeout] == 0 {
			missed++
		}
	}
	for _, n := range all {
		if n > 1 {
			twice++
		}
	}
	assert.Equal(tb, [2]int{}, [2]int{missed, twice}, "missed and yielded twice, of %d", len(want))
}

func allWhileMoving(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var want []hwt.Timeout
	for i := range 3000 {
		want = append(want, schedule(tb, e, nothing, time.Hour+time.Duration(i*i)*tick))
	}
	for _, delay := range []time.Duration{time.Hour, 99 * time.Hour, 200 * tick, 2 * time.Hour} {
		all := tally{}
		for timeout := range e.All() {
			i := len(all)
			all[timeout]++
			other := want[i*7%len(want)]
			require.True(tb, timeout.Reset(delay))
			require.True(tb, other.Reset(delay+time.Duration(i)*tick))
			if i%50 == 0 {
				schedule(tb, e, nothing, tick).Reset(delay)
				pass(tick) // The worker moves the reset timeouts.
			}
		}
		all.once(tb, want)
		for _, timeout := range want {
			require.True(tb, timeout.Reset(time.Hour))
		}
	}
}

// allWhileDue lets timeouts cascade and become due while a loop is in its body.
func allWhileDue(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var want []hwt.Timeout
	for i := range 3000 {
		want = append(want, schedule(tb, e, nothing, 1000*tick+time.Duration(i)*tick))
	}
	pass(2 * tick)
	all := tally{}
	for timeout := range e.All() {
		if all[timeout]++; len(all) == 10 {
			pass(990 * tick) // Timeouts have cascaded, and are not due yet.
		}
	}
	all.once(tb, want)
	pass(500 * tick)
	all = tally{}
	ahead := time.Now()
	for timeout := range e.All() {
		if all[timeout]++; len(all) == 10 {
			pass(600 * tick)
		}
	}
	left := slices.DeleteFunc(want, func(timeout hwt.Timeout) bool {
		return timeout.Deadline().Before(ahead.Add(601 * tick))
	})
	all.once(tb, left)
}

func allInsideTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var own hwt.Timeout
	var others, inside, reset []hwt.Timeout
	ready := make(chan struct{}) // others is complete
	first := schedule(tb, e, task(func(t hwt.Timeout) {
		<-ready
		own, inside = t, collect(e)
		for _, other := range others {
			if other.Reset(time.Hour) { // Then it was pending throughout.
				reset = append(reset, other)
			}
		}
	}), tick)
	_, with := scheduleAll(tb, e, 100, tick, newProbe) // In the same tick, and mostly after the first.
	_, later := scheduleAll(tb, e, 100, time.Minute, newProbe)
	others = append(with, later...)
	close(ready)
	pass(5 * tick)
	same(tb, first, own, "the timeout whose task runs")
	assert.False(tb, slices.Contains(inside, own), "an expired timeout is pending")
	contains(tb, inside, reset)
	contains(tb, reset, later)
	sameTimeouts(tb, reset, collect(e))
}

func allNested(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	_, want := scheduleAll(tb, e, 100, time.Hour, newProbe)
	pass(2 * tick)
	var descend func(depth int)
	descend = func(depth int) {
		all := tally{}
		for timeout := range e.All() {
			if all[timeout]++; len(all) == 30 && depth > 0 {
				descend(depth - 1)
			}
		}
		all.once(tb, want)
	}
	descend(40)
	next, stop := iter.Pull(e.All())
	defer stop()
	for i := range 100 {
		n := 0
		for range e.All() {
			if n++; n > i {
				break
			}
		}
		assert.Equal(tb, min(i+1, len(want)), n, "a loop that is left")
		func() {
			defer func() { assert.NotNil(tb, recover()) }()
			for range e.All() {
				panic("left, too")
			}
		}()
		_, ok := next()
		require.True(tb, ok)
	}
	_, ok := next()
	assert.False(tb, ok, "more than there are")
	together(10, func(int) { sameTimeouts(tb, want, collect(e)) })
	n := 0
	for range e.All() {
		n++
		if unprocessed := e.Stop(); n == 1 {
			sameTimeouts(tb, want, unprocessed)
		}
	}
	assert.Equal(tb, 1, n, "no timeout is pending after Stop in the loop")
}

func allHoldsUpNothing(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	begin := time.Now()
	tasks, timeouts := scheduleAll(tb, e, 100, time.Minute, newProbe)
	schedule(tb, e, nothing, time.Hour)
	n := 0
	for range e.All() {
		if n++; n == 20 {
			timeouts[99].Reset(2 * time.Minute)
			pass(3 * time.Minute)
		}
	}
	for _, p := range tasks[:99] {
		ranOnTime(tb, p, begin.Add(time.Minute), "while a loop rests")
	}
	ranOnTime(tb, tasks[99], begin.Add(2*time.Minute), "reset in the loop")
}

// allInConstantMemory uses the real clock because a bubble allocates memory, too.
func allInConstantMemory(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	cost := func(n int) uint64 {
		scheduleAll(tb, e, n, time.Hour, newProbe)
		collect(e) // Drains the intake, so that the wheel grows.
		least := ^uint64(0)
		for range 5 { // Other goroutines may allocate at the same time.
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range e.All() { //nolint:revive // The loop itself is measured.
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
	}
	const more = 90_000
	few := cost(10_000)
	assert.Greater(tb, few+more*4, cost(more), "half a pointer per additional timeout")
}

// allAgainstRaces uses the real clock because the worker must move timeouts
// concurrently.
func allAgainstRaces(tb testing.TB, newTimer factory) {
	onProcs(func(int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		_, still := scheduleAll(tb, e, 500, time.Hour, newProbe)
		_, moving := scheduleAll(tb, e, 500, time.Hour, newProbe)
		want := append(still, moving...)
		var stopped atomic.Bool
		end := time.Now().Add(50 * time.Millisecond)
		together(4, func(i int) {
			switch i {
			case 0:
				for n := 0; !stopped.Load(); n++ {
					moving[n*31%len(moving)].Reset(time.Second + time.Duration(n%5000)*time.Millisecond)
				}
			case 1:
				for !stopped.Load() {
					schedule(tb, e, nothing, time.Millisecond/2)
					schedule(tb, e, newProbe(), time.Hour).Cancel()
					runtime.Gosched()
				}
			default:
				defer stopped.Store(true)
				for time.Now().Before(end) {
					all := tally{}
					for timeout := range e.All() {
						all[timeout]++
					}
					all.once(tb, want)
				}
			}
		})
		e.Stop()
	})
}

// allWithBacklog uses the real clock because other callers must schedule and cancel
// concurrently.
func allWithBacklog(tb testing.TB, newTimer factory) {
	const rounds, backlog, cancelling = 10, 10_000, 3
	e := newTimer.start(tb, Options{TickDuration: 100 * time.Millisecond})
	tasks := slices.Repeat([]hwt.TimerTask{nothing}, backlog)
	var stopped atomic.Bool
	var callers sync.WaitGroup
	for range cancelling {
		callers.Go(func() {
			for !stopped.Load() {
				schedule(tb, e, nothing, time.Hour).Cancel()
			}
		})
	}
	for range rounds {
		want, err := e.NewTimeouts(tasks, time.Hour)
		require.NoError(tb, err)
		all := tally{}
		for timeout := range e.All() {
			all[timeout]++
		}
		all.once(tb, want)
		for _, timeout := range want {
			timeout.Cancel()
		}
	}
	stopped.Store(true)
	callers.Wait()
}
