package soak

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
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
