package cache

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync"
)

// Ground rules
//
// An entry is a pair of the keyed wheel and nothing else: what is in the cache
// has a timeout, because there is no other place to put it. Around that:
//
//	C1. What changes a key's entry holds its stripe's mu: Set, Del, the end of a
//	    fetch, eviction. Expiry alone does not; the wheel decides it, and a pair
//	    that expired is gone before anyone hears of it.
//	C2. A flight is in its stripe's map as long as its result may be stored. Set
//	    and Del take it out, under the same mu under which they change the entry:
//	    so nothing that was fetched before them is stored after them. Whoever
//	    comes later starts a flight of his own.
//	C3. With a limit there is one stripe, and its list has a node for every entry
//	    of the wheel, and for those that are just expiring. A node tells its entry
//	    by identity: the entry that the wheel has under a key may be a newer one.
//	C4. No users' code runs under mu.
//
// Get takes no lock, but for noting the use where there is a limit.

// padding is the distance at which two processors do not disturb each other's
// writes.
const padding = 128

// maxStripes bounds the stripes of a cache without a limit.
const maxStripes = 256

// stripe is what some of the keys share.
type stripe[K comparable, V any] struct {
	mu      sync.Mutex
	flights map[K]*flight[V] // nil until needed. Guarded by mu.
	uses    lru[K]           // empty without a limit. Guarded by mu.
	_       [padding]byte
}

// stripes spreads keys evenly.
type stripes[K comparable, V any] struct {
	all  []stripe[K, V] // Immutable after New; a power of two of them.
	seed maphash.Seed   // Immutable after New.
}

func newStripes[K comparable, V any](limit int) stripes[K, V] {
	n := 1
	if limit == 0 {
		n = min(4<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), maxStripes)
	}
	return stripes[K, V]{all: make([]stripe[K, V], n), seed: maphash.MakeSeed()}
}

func (s *stripes[K, V]) of(key K) *stripe[K, V] {
	if len(s.all) == 1 {
		return &s.all[0]
	}
	return &s.all[maphash.Comparable(s.seed, key)&uint64(len(s.all)-1)]
}
