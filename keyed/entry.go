package keyed

import (
	"iter"
	"math"
	"time"
)

// Entry is a pair of key and value with its due time.
//
// It survives a restart of the program: its fields can be encoded, by encoding/json
// for example, and Set(e.Key, e.Value, e.Left()) schedules it again.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	Due   time.Time // the zero Time if never; see [hwt.Timeout.Deadline]
}

// Left returns the time until the entry is due: zero or less if it is overdue, and
// the longest Duration if it is never due.
func (e Entry[K, V]) Left() time.Duration {
	if e.Due.IsZero() {
		return math.MaxInt64
	}
	return time.Until(e.Due)
}

// Due returns the due time of the pair of key, and whether there is a pair. It takes
// constant time and no lock, and allocates nothing. After Close it finds no pair.
func (w *Wheel[K, V]) Due(key K) (due time.Time, ok bool) {
	p, ok := w.load(key)
	if !ok {
		return time.Time{}, false
	}
	return p.timeout.Deadline(), true
}

// All yields the pending pairs, in no order, each key at most once. Each entry is
// the pair as it was at one moment of the loop. The loop may use the wheel.
// Concurrent changes may or may not be seen.
func (w *Wheel[K, V]) All() iter.Seq[Entry[K, V]] {
	return func(yield func(Entry[K, V]) bool) {
		w.pairs.Range(func(key K, p pair[K, V]) bool {
			e, ok := w.entry(key, p)
			return !ok || yield(e)
		})
	}
}

// entry returns the entry of key, whose pair was p a moment ago, if it still has
// one.
func (w *Wheel[K, V]) entry(key K, p pair[K, V]) (e Entry[K, V], ok bool) {
	for { // Ends: in each turn another operation changed the pair.
		e = p.entry(key)
		now, known := w.load(key)
		if !known || now.timeout == p.timeout { // K6: e is the pair as it was in between
			return e, known
		}
		p = now
	}
}

func (p pair[K, V]) entry(key K) Entry[K, V] {
	return Entry[K, V]{key, p.value, p.timeout.Deadline()}
}
