package lateness_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
)

func TestEmptySummaryIsAllZero(t *testing.T) {
	s := new(lateness.Recorder).Summary()
	assert.Equal(t, lateness.Summary{Bins: []lateness.Bin{}}, s)
	assert.Empty(t, s.Histogram())
}

func TestQuantilesExceedTheExactOnesByAtMostHalf(t *testing.T) {
	var r lateness.Recorder
	for i := range 10_000 {
		r.Record(time.Duration(i+1) * time.Microsecond)
	}
	s := r.Summary()
	assert.EqualValues(t, 10_000, s.Count)
	for exact, got := range map[time.Duration]time.Duration{
		5000 * time.Microsecond: s.P50, 9900 * time.Microsecond: s.P99, 9990 * time.Microsecond: s.P999,
	} {
		assert.GreaterOrEqual(t, got, exact)
		assert.LessOrEqual(t, got, exact*3/2)
	}
	assert.Equal(t, 10*time.Millisecond, s.Max, "the maximum is exact")
	assert.LessOrEqual(t, s.P999, s.Max)
}

func TestEarlyTimeoutsAreCountedSeparately(t *testing.T) {
	var r lateness.Recorder
	r.Record(-1)
	r.Record(0)
	s := r.Summary()
	assert.EqualValues(t, 1, s.Early)
	assert.EqualValues(t, 1, s.Count)
	assert.Zero(t, s.Max)
}

func TestAtMostSixBinsHoldEveryRecord(t *testing.T) {
	var r lateness.Recorder
	for _, d := range []time.Duration{0, 15 * time.Microsecond, 300 * time.Microsecond, time.Millisecond,
		3 * time.Second, 48 * time.Minute, time.Hour, 30 * time.Hour} {
		r.Record(d)
	}
	s := r.Summary()
	assert.EqualValues(t, 8, s.Count)
	assert.Equal(t, 30*time.Hour, s.Max)
	var sum int64
	for _, bin := range s.Bins {
		sum += bin.Count
	}
	assert.EqualValues(t, 8, sum)
	assert.LessOrEqual(t, len(s.Bins), 6)
}

func TestHistogramIsDrawnToScale(t *testing.T) {
	s := lateness.Summary{Bins: []lateness.Bin{
		{UpTo: 500 * time.Microsecond, Count: 1},
		{UpTo: time.Millisecond, Count: 2000},
		{UpTo: 2 * time.Millisecond, Count: 0},
		{UpTo: 5 * time.Millisecond, Count: 1000},
	}}
	assert.Equal(t, ""+
		"  up to   500µs            1  .\n"+
		"  up to     1ms        2,000  ########################################\n"+
		"  up to     2ms            0\n"+
		"  up to     5ms        1,000  ####################\n", s.Histogram())
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	var r lateness.Recorder
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				r.Record(time.Millisecond)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 4000, r.Summary().Count)
}
