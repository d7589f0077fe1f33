package soak

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
)

func TestHeapMayGrowWithTheNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, slack := range map[int]int64{1: 2 << 20, 16: 2 << 20, 64: 8 << 20} {
		runtime.GOMAXPROCS(procs)
		for over, wrong := range map[int64]int{0: 0, 1: 1} {
			r := Report{Before: Memory{Heap: 1000, Peak: 9}, After: Memory{Heap: 1000 + slack + over, Peak: 9}}
			r.checkMemory()
			assert.Len(t, r.Violations, wrong, "%d over, on %d processors", over, procs)
		}
	}
}

func TestHeapMayGrowWithThePeakOfGoroutines(t *testing.T) {
	for over, wrong := range map[int64]int{0: 0, 1: 1} {
		r := Report{Before: Memory{Peak: 10}, After: Memory{Heap: heapSlack() + 5*descriptorSize + over, Peak: 15}}
		r.checkMemory()
		assert.Len(t, r.Violations, wrong)
	}
}

func TestCountsMustAddUpAtEverySample(t *testing.T) {
	before := hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 4}
	for name, c := range map[string]struct {
		now     hwt.Stats
		pending int64
		good    bool
	}{
		"no change":             {before, 4, true},
		"one more":              {hwt.Stats{Accepted: 11, Expired: 3, Cancelled: 3, Unprocessed: 1, Pending: 4}, 4, true},
		"one refused":           {hwt.Stats{Accepted: 9, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 3}, 4, true},
		"all ended":             {hwt.Stats{Accepted: 10, Expired: 6, Cancelled: 3, Unprocessed: 1}, 0, true},
		"more ended than all":   {hwt.Stats{Accepted: 10, Expired: 7, Cancelled: 3, Unprocessed: 1, Pending: -1}, 0, false},
		"wrong difference":      {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 5}, 4, false},
		"fewer than none":       {before, -1, false},
		"fewer are expired":     {hwt.Stats{Accepted: 10, Expired: 1, Cancelled: 3, Unprocessed: 1, Pending: 5}, 4, false},
		"fewer are cancelled":   {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 2, Unprocessed: 1, Pending: 5}, 4, false},
		"fewer are unprocessed": {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Pending: 5}, 4, false},
	} {
		var w statsWatcher
		w.look(before, 4)
		assert.Empty(t, w.fault, name)
		w.look(c.now, c.pending)
		assert.Equal(t, c.good, w.fault == "", "%s: %s", name, w.fault)
		assert.EqualValues(t, 2, w.looks)
	}
}

// ticked is a timer that has ticked and never fired.
type ticked struct{ hwt.Engine }

func (ticked) Stats() hwt.Stats { return hwt.Stats{Ticks: 1} }

func TestLatenessBeyondTheStallsIsAViolation(t *testing.T) {
	for stalled, most := range map[time.Duration]time.Duration{0: time.Second, 2 * time.Second: 9 * time.Second} {
		for over, wrong := range map[time.Duration]int{0: 0, 1: 1} {
			r := &round{timer: ticked{}, work: &rateWork{}, plan: plan{maxLate: time.Second}}
			raise(&r.latest, int64(most+over))
			raise(&r.latest, 5)
			assert.Len(t, r.check(&statsWatcher{stalled: stalled}), wrong)
			r.plan.maxLate = 0
			assert.Empty(t, r.check(&statsWatcher{}), "any lateness is allowed")
		}
	}
}

func TestMaximumLatenessOfAllRoundsIsReported(t *testing.T) {
	e := newReport(Config{Engines: engines.All[:1]}).Engines[0]
	for _, late := range []int64{3, 7, 5} {
		r := &round{timer: ticked{}}
		raise(&r.latest, late)
		e.add(r, &statsWatcher{looks: 2})
	}
	assert.EqualValues(t, 7, e.MaxLate)
	assert.EqualValues(t, 6, e.Looks)
	assert.EqualValues(t, 3, e.Rounds)
}

func TestFirstRoundsCoverEveryLoad(t *testing.T) {
	wheel, other := engines.Engine{Wheel: 1}, engines.Engine{}
	c := Config{Round: 50 * time.Millisecond}
	short := plan{load: Random, tick: time.Millisecond, workers: 1, length: 50 * time.Millisecond}
	for i, load := range Loads {
		assert.Equal(t, load, c.plan(wheel, i).load)
		assert.Equal(t, load, c.plan(wheel, turns+i).load)
		for n := range turns {
			assert.Equal(t, load, Config{Load: load}.plan(wheel, n).load)
		}
	}
	assert.Equal(t, short, c.plan(wheel, 0))
	assert.Equal(t, plan{load: Random, tick: 300 * time.Millisecond, workers: 1, length: 1200 * time.Millisecond}, c.plan(wheel, 3))
	for n := range 3 * turns {
		assert.Equal(t, workersOf[(n+n/turns)%3], c.plan(wheel, n).workers)
	}
	assert.Equal(t, short.length, c.plan(other, 1).length, "rate load needs a worker")
	assert.Equal(t, short.length, c.plan(other, 2).length, "resets load needs a worker")
}

func TestContextsMustEndWhenTheTimerGivesUp(t *testing.T) {
	live := context.Background()
	stopped, cancel := context.WithCancelCause(live)
	cancel(hwt.ErrStopped)
	canceled, end := context.WithCancel(live)
	end()
	for name, c := range map[string]struct {
		ctx              context.Context
		stopping, gaveUp bool
		wrong            int64
	}{
		"not stopped":         {live, false, false, 0},
		"stopped":             {live, true, false, 0},
		"given up":            {stopped, true, true, 0},
		"giving up":           {stopped, true, false, 0},
		"too soon":            {stopped, false, false, 1},
		"for another reason":  {canceled, true, true, 1},
		"given up, but alive": {live, true, true, 1},
	} {
		var r round
		r.stopping.Store(c.stopping)
		r.gaveUp.Store(c.gaveUp)
		assert.NoError(t, r.waitForContext(c.ctx, nil))
		assert.Equal(t, c.wrong, r.wrong.contexts.Load(), name)
	}
}
