package keyed

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/check"
)

// Wheel holds pairs of key and value until they expire. Create a Wheel with [New]. All
// methods are safe for concurrent use, including in callbacks.
type Wheel[K comparable, V any] struct {
	timer                     hwt.Timer                             // Immutable after New.
	init                      func(*hwt.Event, hwt.TimerTask) error // Immutable after New.
	callback                  func(key K, value V)                  // Immutable after New.
	options                   Options[K, V]                         // Immutable after New.
	check                     check.Keys[K]                         // Immutable after New.
	seed                      maphash.Seed                          // Immutable after New.
	continues                 func(*pair[K, V]) bool                // Immutable after New and NewDebouncer. nil, or reports whether a due pair stays.
	stripes                   []stripe[K, V]                        // Immutable after New. See the ground rules in pair.go.
	closed                    atomic.Bool                           // Atomic: written by Close, read by all.
	fired, drained, cancelled atomic.Int64                          // Atomic: written where pairs end, read by Stats.
}

// New returns an empty wheel on timer. The wheel calls callback with each pair that
// expires, where the timer runs its tasks. Without an executor, callback runs on the worker
// of a timing wheel and should return quickly. Several wheels may share a timer, and
// closing a wheel does not stop the timer. Nil options mean the defaults.
//
// If the timer's executor rejects a callback, the pair expires again after a second; see
// ErrorHandler in [Options]. Pairs that are pending when the timer is stopped stay in the
// wheel until removed or drained.
//
// New returns an error if timer is nil, including a nil pointer as a timer, if callback is
// nil, or if an option is out of range.
func New[K comparable, V any](timer hwt.Timer, callback func(key K, value V), options *Options[K, V]) (*Wheel[K, V], error) {
	if err := check.NotNil("keyed", "New", "timer", timer, "an hwt.Timer"); err != nil {
		return nil, err
	}
	if err := check.NotNil("keyed", "New", "callback", callback, "a function"); err != nil {
		return nil, err
	}
	o, err := complete(options)
	if err != nil {
		return nil, err
	}
	w := &Wheel[K, V]{
		timer:    timer,
		init:     initOf(timer),
		callback: callback,
		options:  o,
		check:    check.KeysOf[K](),
		seed:     maphash.MakeSeed(),
		stripes:  newStripes[K, V](),
	}
	return w, nil
}

// stripe returns the stripe of a usable key, and the hash of the key there. The hash is not
// 0.
func (w *Wheel[K, V]) stripe(key K) (s *stripe[K, V], h uint32) {
	hash := maphash.Comparable(w.seed, key)
	return &w.stripes[hash>>cacheline.Shift(len(w.stripes))], uint32(hash) | 1
}

// usable returns ErrClosed, ErrInvalidKey or nil: the error of an operation on key, if that
// returns one.
func (w *Wheel[K, V]) usable(key K) error {
	if w.closed.Load() {
		return ErrClosed
	}
	if !w.check.OK(key) {
		return ErrInvalidKey
	}
	return nil
}

// Close cancels all pending pairs. [Stats] counts them as Cancelled. Later calls return
// ErrClosed, or find no pair if they return no error. Close takes time proportional to the
// number of pending pairs. Calls after the first have no effect.
//
// Close does not wait for callbacks that are running, and may be called from within a
// callback. Close does not stop the timer. Close implements [io.Closer] and always returns
// nil.
func (w *Wheel[K, V]) Close() error {
	if !w.closed.CompareAndSwap(false, true) { // Linearization point of Close.
		return nil
	}
	w.sweep(func(p *pair[K, V]) {
		p.take()
		w.cancelled.Add(1)
	})
	return nil
}

// sweep removes every pending pair and calls f with the pair.
func (w *Wheel[K, V]) sweep(f func(*pair[K, V])) {
	for i := range w.stripes {
		for _, segment := range w.stripes[i].removeAll() {
			for _, p := range segment.pairs {
				if p != nil {
					p.event.Cancel() // false if the event has expired: the task will find nothing
					f(p)
				}
			}
		}
	}
}

// String returns the name of the wheel, the number of pending pairs, and the timer or, without a
// String method, the timer's type.
func (w *Wheel[K, V]) String() string {
	timer, ok := w.timer.(fmt.Stringer)
	if !ok { // fmt would read the fields of a wrapper in use
		return fmt.Sprintf("keyed.Wheel(%s, %d pending on %T)", w.options.Name, w.Len(), w.timer)
	}
	return fmt.Sprintf("keyed.Wheel(%s, %d pending on %v)", w.options.Name, w.Len(), timer)
}
