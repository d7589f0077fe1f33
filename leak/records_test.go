package leak_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

// recordN records 1 to n on a tracked resource with the given target.
func recordN(target, n int) (kept []string, discarded int) {
	d, _ := newSinkDetector(leak.Options{TargetRecords: target, SamplingInterval: 1})
	r := &resource{}
	r.tracker = d.Track(r)
	defer r.close()
	for i := range n {
		r.tracker.Record(i + 1)
	}
	return r.tracker.Kept()
}

func TestRecordsUpToTheTargetAreKeptNewestFirst(t *testing.T) {
	at(t, leak.LevelParanoid)
	kept, discarded := recordN(4, 4)
	assert.Equal(t, []string{"4", "3", "2", "1"}, kept)
	assert.Zero(t, discarded)
}

func TestLastRecordIsAlwaysKept(t *testing.T) {
	at(t, leak.LevelParanoid)
	for _, target := range []int{1, 4, 10} {
		for n := 1; n <= 300; n++ {
			kept, discarded := recordN(target, n)
			assert.Equal(t, strconv.Itoa(n), kept[0])
			assert.Equal(t, n, len(kept)+discarded)
			assert.GreaterOrEqual(t, len(kept), min(n, target))
		}
	}
}

// Above the target, a list of n records grows with probability 1/2^(n-target+1). Its length
// is about the target plus the logarithm of the number of accesses.
func TestRecordsPastTheTargetAreDiscarded(t *testing.T) {
	at(t, leak.LevelParanoid)
	kept, discarded := recordN(4, 10_000)
	assert.Greater(t, len(kept), 4)
	assert.Less(t, len(kept), 4+32)
	assert.Equal(t, 10_000-len(kept), discarded)
}

func TestRecordsAreDiscardedWithGrowingProbability(t *testing.T) {
	const draws = 1 << 12
	for _, c := range []struct{ kept, target, stays int }{
		{0, 4, draws}, {3, 4, draws},
		{4, 4, draws / 2}, {5, 4, draws / 4}, {9, 4, draws / 64},
		{1, 1, draws / 2}, {15, 4, 1}, {16, 4, 1},
	} {
		stays := 0
		for random := range uint32(draws) { // every value of the bits that count
			if !leak.Replaces(c.kept, c.target, random) {
				stays++
			}
		}
		assert.Equal(t, c.stays, stays, "%d kept, target %d", c.kept, c.target)
	}
	assert.True(t, leak.Replaces(1<<30, 1, 1<<29), "the exponent is bounded")
	assert.False(t, leak.Replaces(1<<30, 1, 1<<30), "at 30 bits")
}

func TestRacingRecordsAreKeptOrCounted(t *testing.T) {
	at(t, leak.LevelSimple) // without stacks, records race more often
	atProcs(t, func(t *testing.T) {
		d, _ := newSinkDetector(leak.Options{SamplingInterval: 1})
		r := &resource{}
		r.tracker = d.Track(r)
		const goroutines, each = 4, 5000
		together(goroutines, func(int) {
			for range each {
				r.tracker.Record("x")
			}
		})
		kept, discarded := r.tracker.Kept()
		assert.Equal(t, goroutines*each, len(kept)+discarded)
		assert.True(t, r.close())
	})
}

func TestReportCountsDuplicateAndDiscardedRecords(t *testing.T) {
	at(t, leak.LevelSimple)
	scope := leak.NewScope("counts")
	d, _ := newSinkDetector(leak.Options{Scope: scope, TargetRecords: 4, SamplingInterval: 1})
	r := &resource{}
	r.tracker = d.Track(r)
	for range 3 {
		r.tracker.Record("same")
	}
	r.tracker.Record("other")
	assert.Equal(t, 2, scope.Reports()[0].Duplicates)
	assert.Zero(t, scope.Reports()[0].Discarded)
	for range 1000 {
		r.tracker.Record("same")
	}
	report := scope.Reports()[0]
	assert.Equal(t, 1004, len(report.Records)+report.Duplicates+report.Discarded)
	assert.Contains(t, report.String(), "Access records discarded: "+strconv.Itoa(report.Discarded)+" ")
	assert.Contains(t, report.String(), "Duplicate access records not shown: "+strconv.Itoa(report.Duplicates)+"\n")
	assert.Equal(t, 1, strings.Count(report.String(), "Hint: same"))
	assert.True(t, r.close())
}
