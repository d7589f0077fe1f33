package keyed

import (
	"iter"
	"math"
	"time"
)

// Entry is a pair of key and value with the due time.
//
// To keep an entry across a restart, encode the entry, for example with encoding/json, and
// schedule it again with Set(e.Key, e.Value, e.Left()).
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	Due   time.Time // the zero Time if never; see [hwt.Timeout.Deadline]
}

// Left returns the time until the entry is due: zero or less for an overdue entry, and the
// longest Duration for an entry that is never due.
func (e Entry[K, V]) Left() time.Duration {
	if e.Due.IsZero() {
		return math.MaxInt64
	}
	return time.Until(e.Due)
}

// Due returns the due time of the pair of key, and whether there is a pair. Due takes
// constant time and allocates nothing. After Close, Due finds no pair.
func (w *Wheel[K, V]) Due(key K) (due time.Time, ok bool) {
	w.look(key, func(p *pair[K, V]) { due, ok = p.event.Deadline(), true })
	return due, ok
}

// All yields the pending pairs, in no order, each key at most once. Each entry is the state
// of the pair at one moment of the loop. The loop may use the wheel. Concurrent changes may
// or may not be seen. All copies some hundred pairs at a time.
func (w *Wheel[K, V]) All() iter.Seq[Entry[K, V]] {
	return func(yield func(Entry[K, V]) bool) {
		var entries []Entry[K, V]
		for i := range w.stripes {
			for begin := uint64(firstOrder); begin < endOrder; {
				entries, begin = w.stripes[i].part(entries[:0], begin)
				for _, e := range entries {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

func (p *pair[K, V]) entry() Entry[K, V] {
	return Entry[K, V]{p.key, p.value, p.event.Deadline()}
}
