package keyed

import (
	"errors"

	"github.com/puzpuzpuz/xsync/v4"
)

// Update replaces the value of key by the result of f for it, and keeps its due
// time. It reports whether there was a pair; an unknown key is not an error.
//
// f runs without locks and may use the wheel. If the pair changes while f runs,
// Update calls f again with the new value. It takes constant time and two allocations
// per call of f.
//
// Update returns ErrClosed or ErrKey.
func (w *Wheel[K, V]) Update(key K, f func(value V) V) (updated bool, err error) {
	if f == nil {
		return false, errors.New("keyed: Update: f is nil (expected: a function)")
	}
	for { // Ends: if the swap fails, another operation changed the pair.
		if err := w.usable(key); err != nil {
			return false, err
		}
		old, known := w.pairs.Load(key)
		if !known {
			return false, nil
		}
		if w.swap(key, old, f(old.value)) {
			return true, nil
		}
	}
}

// swap replaces the value of old, unless the pair of key is not old any more.
func (w *Wheel[K, V]) swap(key K, old pair[K, V], value V) (swapped bool) {
	w.pairs.Compute(key, func(p pair[K, V], known bool) (pair[K, V], xsync.ComputeOp) {
		if swapped = known && p.timeout == old.timeout; !swapped { // K6
			return p, xsync.CancelOp
		}
		return pair[K, V]{value, relink(p.timeout)}, xsync.UpdateOp // Linearization point of Update.
	})
	return swapped
}
