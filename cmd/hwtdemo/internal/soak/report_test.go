package soak

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func TestTheHeapMayGrowByMoreWhereThereAreMoreProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, slack := range map[int]int64{1: 2 << 20, 16: 2 << 20, 64: 8 << 20} {
		runtime.GOMAXPROCS(procs)
		for over, wrong := range map[int64]int{0: 0, 1: 1} {
			r := Report{Before: Memory{Heap: 1000}, After: Memory{Heap: 1000 + slack + over}}
			r.judge()
			assert.Len(t, r.Violations, wrong, "%d over, on %d processors", over, procs)
		}
	}
}

func TestBooksMustBalanceAtEveryLook(t *testing.T) {
	before := hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 4}
	for what, c := range map[string]struct {
		now     hwt.Stats
		pending int64
		good    bool
	}{
		"the same":            {before, 4, true},
		"one more":            {hwt.Stats{Accepted: 11, Expired: 3, Cancelled: 3, Unprocessed: 1, Pending: 4}, 4, true},
		"one refused":         {hwt.Stats{Accepted: 9, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 3}, 4, true},
		"all ended":           {hwt.Stats{Accepted: 10, Expired: 6, Cancelled: 3, Unprocessed: 1}, 0, true},
		"more than all ended": {hwt.Stats{Accepted: 10, Expired: 7, Cancelled: 3, Unprocessed: 1, Pending: -1}, 0, false},
		"no difference":       {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Unprocessed: 1, Pending: 5}, 4, false},
		"less than none":      {before, -1, false},
		"expired anew":        {hwt.Stats{Accepted: 10, Expired: 1, Cancelled: 3, Unprocessed: 1, Pending: 5}, 4, false},
		"cancelled anew":      {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 2, Unprocessed: 1, Pending: 5}, 4, false},
		"unprocessed anew":    {hwt.Stats{Accepted: 10, Expired: 2, Cancelled: 3, Pending: 5}, 4, false},
	} {
		var b books
		b.see(before, 4)
		assert.Empty(t, b.fault, what)
		b.see(c.now, c.pending)
		assert.Equal(t, c.good, b.fault == "", "%s: %s", what, b.fault)
		assert.EqualValues(t, 2, b.looks)
	}
}

func TestTheLatestTaskIsReported(t *testing.T) {
	r := &round{timer: still{}}
	for _, late := range []int64{3, 7, 5} {
		raise(&r.latest, late)
	}
	into := EngineReport{MaxLate: 6}
	r.check(&into, books{})
	assert.EqualValues(t, 7, into.MaxLate)
	r.check(&into, books{looks: 3})
	assert.EqualValues(t, 7, into.MaxLate)
	assert.EqualValues(t, 3, into.Looks)
}

// still is a timer with which nothing happened.
type still struct{ Timer }

func (still) Stats() hwt.Stats { return hwt.Stats{} }
