package keyed

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStripeFindsEveryPairAtAnySize adds and removes pairs beside a map. The slots follow
// the number of pairs in both directions. Some hashes are equal.
func TestStripeFindsEveryPairAtAnySize(t *testing.T) {
	const keys, steps = 3000, 20_000
	seed := maphash.MakeSeed()
	s := &newStripes[int, int]()[0]
	hash := func(key int) uint32 { return uint32(maphash.Comparable(seed, key/2)) | 1 }
	pairs := map[int]*pair[int, int]{}
	for step := range steps {
		key := rand.N(keys)
		p, slot := s.find(hash(key), key)
		require.Same(t, pairs[key], p)
		switch grows := step/keys%2 == 0; {
		case p == nil && (grows || step%4 == 0):
			pairs[key] = &pair[int, int]{key: key}
			s.add(hash(key), pairs[key])
		case p != nil && (!grows || step%4 == 0):
			s.remove(slot)
			delete(pairs, key)
		}
		n := len(pairs)
		require.EqualValues(t, n, s.n.Load())
		require.LessOrEqual(t, 20*n, 17*len(s.hashes))
		require.LessOrEqual(t, len(s.hashes), max(3*n, minSlots))
	}
	for key := range keys {
		p, _ := s.find(hash(key), key)
		require.Same(t, pairs[key], p)
	}
}
