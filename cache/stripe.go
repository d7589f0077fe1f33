package cache

import (
	"hash/maphash"
	"sync"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// maxStripes bounds the stripes of a cache without a limit.
const maxStripes = 256

// stripe has the slots of some of the keys. With a limit there is one stripe.
type stripe[K comparable] struct {
	mu    sync.Mutex
	slots slots[K]
	wheel wheel[K] // Guarded by mu.
	sieve sieve[K] // Empty without a limit. Guarded by mu.
	_     [cacheline.Padding]byte
}

// stripes maps keys to stripes, evenly.
type stripes[K comparable] struct {
	all  []stripe[K]  // The number is a power of two. Immutable after New.
	seed maphash.Seed // Immutable after New.
}

func newStripes[K comparable](limited, sliding bool) stripes[K] {
	n := 1
	if !limited {
		n = cacheline.Stripes(4, maxStripes)
	}
	s := stripes[K]{all: make([]stripe[K], n), seed: maphash.MakeSeed()}
	for i := range s.all {
		s.all[i].slots.limited, s.all[i].slots.sliding = limited, sliding
	}
	return s
}

// of returns the number of the stripe of key.
func (s *stripes[K]) of(key K) int {
	if len(s.all) == 1 {
		return 0
	}
	return int(maphash.Comparable(s.seed, key) & uint64(len(s.all)-1))
}

// stripeOf returns the stripe of r.
func (c *Cache[K, V]) stripeOf(r ref) *stripe[K] { return &c.stripes.all[r.stripe()] }

// add takes a slot for key, due at due, and returns the ref and the time at which the slot
// needs the alarm. Unless old is 0, the new slot takes the place of the slot old: old neither
// expires nor is evicted any more, and still has to be freed.
func (s *stripe[K]) add(stripe int, key K, due int64, old uint32) (r ref, alarm int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old != 0 {
		s.retire(old)
	}
	n := s.slots.alloc(key)
	if s.slots.limited {
		s.sieve.push(&s.slots, n)
	}
	if s.slots.sliding {
		s.slots.idle(n).due.Store(due)
	}
	return newRef(stripe, s.slots.at(n).gen, n), s.file(n, due)
}

// remove frees slot n.
func (s *stripe[K]) remove(n uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire(n)
	s.slots.release(n)
}

// retire removes slot n from the wheel and the sieve, if n is there. The caller holds s.mu.
func (s *stripe[K]) retire(n uint32) {
	s.wheel.unfile(&s.slots, n)
	if s.slots.limited {
		s.sieve.remove(&s.slots, n)
	}
}

// reinsert files slot n again, for due, and returns the time at which the slot needs the
// alarm.
func (s *stripe[K]) reinsert(n uint32, due int64) (alarm int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wheel.unfile(&s.slots, n)
	return s.file(n, due)
}

// file files slot n. The caller holds s.mu.
func (s *stripe[K]) file(n uint32, due int64) (alarm int64) {
	if due == never {
		return never
	}
	return s.wheel.file(&s.slots, n, tickOf(due)) << tickBits
}

// pop returns the key and slot of an entry that may be due at now. The slot is
// not filed any more. If more is true, there may be others.
func (s *stripe[K]) pop(now int64) (key K, n uint32, gen uint16, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, more = s.wheel.pop(&s.slots, now>>tickBits); n != 0 {
		at := s.slots.at(n)
		key, gen = at.key, at.gen
	}
	return key, n, gen, more
}

// next returns the time at which the alarm is needed next, or never.
func (s *stripe[K]) next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	tick, n := s.wheel.next()
	if n == 0 {
		return never
	}
	return tick << tickBits
}

// evict chooses an entry to evict, but not the slot keep, if there are more than limit.
func (s *stripe[K]) evict(limit int, keep uint32) (key K, r ref, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sieve.len <= limit {
		return key, 0, false
	}
	n := s.sieve.evict(&s.slots, keep)
	at := s.slots.at(n)
	return at.key, newRef(0, at.gen, n), true
}
