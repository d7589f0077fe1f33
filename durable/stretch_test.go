package durable

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeStream is a stream of messages of one kind, by their sequences in order.
type fakeStream []seen

// probe reads as Store.probe does.
func (f fakeStream) probe(from uint64, n int) stretch {
	i, _ := slices.BinarySearchFunc(f, from, func(m seen, seq uint64) int { return int(m.seq) - int(seq) })
	return stretch{from: from, after: int64(len(f) - i), read: slices.Clone(f[i:min(i+n, len(f))])}
}

// look surveys the stream with a number of probes.
func (f fakeStream) look(probes int) (d dueLook) {
	d.exact = true
	first := f.probe(1, lookFirst)
	first.count = first.after
	all := stretches{first}
	for range probes - 1 {
		i, from := all.middle(f[len(f)-1].seq + 1)
		if from == 0 {
			break
		}
		all = all.split(i, f.probe(from, lookNext))
	}
	for _, st := range all {
		d.add(st, 1)
	}
	return d
}

// add adds n messages from a sequence on, due after left.
func (f *fakeStream) add(n int, from uint64, left time.Duration) {
	for i := range n {
		*f = append(*f, seen{seq: from + uint64(i), left: left})
	}
}

func TestAFewTimersAreCountedExactly(t *testing.T) {
	var f fakeStream
	f.add(100, 5, time.Minute-1)
	f.add(50, 1000, time.Hour-1)
	f = append(f, seen{seq: 2000, canary: true})
	d := f.look(lookProbes)
	assert.True(t, d.exact)
	assert.Equal(t, 150, d.read)
	assert.Equal(t, dueCounts{2: 100, 3: 50}, d.counts)
}

// TestGapsDoNotSpoilTheEstimate has most sequences where few messages are.
func TestGapsDoNotSpoilTheEstimate(t *testing.T) {
	var f fakeStream
	f.add(2000, 1, 2*24*time.Hour)
	f.add(1, 3_000_000, time.Second)
	f.add(50_000, 10_000_000, time.Minute)
	f.add(30_000, 10_900_000, -time.Second)
	d := f.look(lookProbes)
	assert.False(t, d.exact)
	assert.Less(t, d.read, lookFirst+lookProbes*lookNext)
	assert.InDelta(t, 30_000, d.counts[0], 5000)
	assert.InDelta(t, 50_000, d.counts[3], 5000)
	assert.InDelta(t, 2000, d.counts[5], 1000)
	total := 0.0
	for _, n := range d.counts {
		total += n
	}
	assert.InDelta(t, len(f), total, 1)
}

func TestEachRangeEndsWhereTheNextBegins(t *testing.T) {
	for left, want := range map[time.Duration]int{
		-1: 0, 0: 1, time.Second - 1: 1, time.Second: 2, time.Minute: 3, time.Hour: 4, 24*time.Hour - 1: 4, 24 * time.Hour: 5,
	} {
		assert.Equal(t, want, dueRange(left), left)
	}
}

// TestASurveySurvivesChanges has messages come and go between the probes.
func TestASurveySurvivesChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var f fakeStream
		f.add(1+random.IntN(3000), 1, time.Minute)
		last := f[len(f)-1].seq
		first := f.probe(1, lookFirst)
		first.count = first.after
		all := stretches{first}
		for range lookProbes {
			i, from := all.middle(last + 1)
			if from == 0 {
				break
			}
			if random.IntN(2) == 0 {
				f = slices.DeleteFunc(f, func(seen) bool { return random.IntN(3) == 0 })
			} else {
				f.add(random.IntN(500), last+1, time.Minute)
				last += 500
			}
			all = all.split(i, f.probe(from, lookNext))
			for j, st := range all {
				require.GreaterOrEqual(t, st.unread(), int64(0))
				require.True(t, j == 0 || all[j-1].from < st.from)
			}
		}
	}
}
