package keyed

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// TestStripeFindsEveryPairAtAnySize adds and removes pairs beside a map. The segments and
// their slots follow the number of pairs in both directions. Some hashes are equal.
func TestStripeFindsEveryPairAtAnySize(t *testing.T) {
	const keys, steps = 3000, 40_000
	seed := maphash.MakeSeed()
	s := &newStripes[int, int]()[0]
	hash := func(key int) uint32 { return uint32(maphash.Comparable(seed, key/2)) | 1 }
	pairs := map[int]*pair[int, int]{}
	for step := range steps {
		key := rand.N(keys)
		p, at := s.find(hash(key), key)
		require.Same(t, pairs[key], p)
		switch grows := step/(3*keys)%2 == 0; {
		case p == nil && (grows || step%4 == 0):
			pairs[key] = &pair[int, int]{key: key}
			s.add(hash(key), pairs[key])
		case p != nil && (!grows || step%4 == 0):
			s.remove(at)
			delete(pairs, key)
		}
		n := len(pairs)
		require.EqualValues(t, n, s.n.Load())
		require.LessOrEqual(t, n, segmentPairs*len(s.segments))
		require.LessOrEqual(t, len(s.segments), n/(segmentPairs/2)+1)
		in, _ := s.segmentOf(hash(key))
		checkSegment(t, &s.segments[in])
	}
	for key := range keys {
		p, _ := s.find(hash(key), key)
		require.Same(t, pairs[key], p)
	}
}

// maxSegmentSlots bounds the slots of a segment, and therefore the duration of the longest
// step in which a stripe grows or shrinks. The pairs of a segment are twice segmentPairs,
// and some more since hashes are random.
const maxSegmentSlots = 8 * segmentPairs

func checkSegment(t *testing.T, s *segment[int, int]) {
	require.LessOrEqual(t, 20*s.n, 17*len(s.hashes))
	require.LessOrEqual(t, len(s.hashes), max(3*s.n, minSlots, segmentPairs))
}

// TestStepsOfALargeStripeAreBounded grows a stripe to many pairs and shrinks it again.
func TestStepsOfALargeStripeAreBounded(t *testing.T) {
	const keys = 100_000
	s := &newStripes[int, int]()[0]
	hashes := make([]uint32, keys)
	longest := 0
	note := func(h uint32) {
		i, _ := s.segmentOf(h)
		longest = max(longest, len(s.segments[i].hashes), len(s.segments[len(s.segments)-1].hashes))
	}
	for key := range keys {
		hashes[key] = rand.Uint32() | 1
		s.add(hashes[key], &pair[int, int]{key: key})
		note(hashes[key])
	}
	assert.GreaterOrEqual(t, len(s.segments), keys/segmentPairs)
	for key := range keys {
		_, at := s.find(hashes[key], key)
		s.remove(at)
		note(hashes[key])
	}
	assert.LessOrEqual(t, longest, maxSegmentSlots)
	assert.Len(t, s.segments, 1)
	assert.Less(t, cap(s.segments), 8)
}

// hourTimeout has only a deadline, and can be cancelled.
type hourTimeout struct{ hwt.Timeout }

func (hourTimeout) Deadline() time.Time { return time.Now().Add(time.Hour) }
func (hourTimeout) Cancel() bool        { return true }

// hourTimer is a timer of them.
type hourTimer struct{ hwt.Timer }

func (hourTimer) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) {
	return hourTimeout{}, nil
}

func hourPair(w *Wheel[int, int], key int) *pair[int, int] {
	w.init = initOf(hourTimer{})
	p, _ := w.newPair(key, time.Hour)
	return p
}

// TestPartsHaveEveryPairOnce adds or removes other pairs between two parts, so that the
// stripe grows or shrinks.
func TestPartsHaveEveryPairOnce(t *testing.T) {
	for name, c := range map[string]struct{ stay, before, after int }{
		"empty":   {},
		"few":     {stay: 6},
		"many":    {stay: 3000},
		"growing": {stay: 1000, after: 5000},
		"shrinks": {stay: 1000, before: 5000},
	} {
		for range 5 {
			w := &Wheel[int, int]{stripes: newStripes[int, int]()}
			s := &w.stripes[0]
			hashes := map[int]uint32{}
			add := func(key int) {
				hashes[key] = rand.Uint32() | 1
				s.add(hashes[key], hourPair(w, key))
			}
			for key := range c.stay + c.before {
				add(key)
			}
			seen := map[int]int{}
			parts := 0
			for begin := uint64(firstOrder); begin < endOrder; parts++ {
				var e []Entry[int, int]
				e, begin = s.part(nil, begin)
				for _, e := range e {
					seen[e.Key]++
				}
				for range min(c.before, 1000) {
					c.before--
					_, at := s.find(hashes[c.stay+c.before], c.stay+c.before)
					s.remove(at)
				}
				for range min(c.after, 1000) {
					c.after--
					add(c.stay + c.after)
				}
			}
			for key := range c.stay {
				seen[key] += 0 // missed if it is not there
			}
			for key, n := range seen {
				if n != 1 {
					require.Failf(t, name, "key %d came %d times", key, n)
				}
			}
			assert.Equal(t, c.stay > segmentPairs, parts > 1, name)
		}
	}
}

func TestUpdateLeavesNoRecord(t *testing.T) {
	w := &Wheel[int, int]{stripes: newStripes[int, int]()[:1], seed: maphash.MakeSeed()}
	s := &w.stripes[0]
	for key := range 3 {
		_, h := w.stripe(key)
		s.add(h, hourPair(w, key))
	}
	for name, f := range map[string]func(int) int{
		"returns": func(int) int { return 2 },
		"panics":  func(int) int { panic("broken") },
		"updates too": func(int) int {
			w.Update(2, func(int) int { return 3 })
			return 4
		},
	} {
		func() {
			defer func() { _ = recover() }()
			w.Update(1, f)
		}()
		assert.Nil(t, s.updates, name)
	}
}
