package keyed

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/isnil"
	"github.com/hashedwheel/hwt/internal/keys"
)

// Wheel holds pairs of key and value that come due. Make one with New; all
// methods are safe for concurrent use, also from inside callbacks.
type Wheel[K comparable, V any] struct {
	timer                     hwt.Timer              // Immutable after New.
	execute                   func(key K, value V)   // Immutable after New.
	workers                   int                    // of a drain. Immutable after New.
	check                     keys.Check[K]          // Immutable after New.
	pairs                     *xsync.Map[K, pair[V]] // see the ground rules in pair.go.
	closed                    atomic.Bool            // Atomic: written by Stop, read by all.
	fired, drained, cancelled atomic.Int64           // Atomic: written where pairs end, read by Stats.
}

// New returns an empty wheel on timer. execute is called with each pair that
// comes due, where the timer runs its tasks: on the worker of a timing wheel, so
// that it should be short, unless the timer has an executor. The timer stays the
// caller's; several wheels may share one.
//
// What the timer drops stays in the wheel, until it is set, moved, removed or
// drained: the pairs pending when the timer was stopped, and those whose
// callbacks an executor refused.
//
// A nil timer or function, also a nil pointer as a timer, and an option out of its range, is an error.
func New[K comparable, V any](timer hwt.Timer, execute func(key K, value V), options ...Option) (*Wheel[K, V], error) {
	if isnil.Of(timer) {
		return nil, errors.New("keyed: New: timer is nil (expected: a timer)")
	}
	if execute == nil {
		return nil, errors.New("keyed: New: execute is nil (expected: a function)")
	}
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	return &Wheel[K, V]{
		timer:   timer,
		execute: execute,
		workers: c.drainWorkers,
		check:   keys.For[K](),
		pairs:   xsync.NewMap[K, pair[V]](),
	}, nil
}

// SetTimer schedules the pair to come due delay from now. If the key is known,
// its pair gets the new value and the new delay, and the old ones are forgotten.
// A delay of zero or less comes due at the next opportunity.
//
// It takes constant time and three allocations, the timer's included. A known
// key gets a new timeout, and then the old one is cancelled; at the timer's limit
// of pending timeouts the old one is moved instead, and a Move at the same moment
// may say true without effect.
//
// It returns ErrClosed, ErrKey, or the error of the timer's NewTimeout; then
// nothing has changed.
func (w *Wheel[K, V]) SetTimer(key K, value V, delay time.Duration) error {
	err := w.usable(key)
	if err != nil {
		return err
	}
	w.pairs.Compute(key, func(old pair[V], _ bool) (pair[V], xsync.ComputeOp) {
		var t hwt.Timeout
		if t, err = w.replace(key, old.timeout, delay); err != nil {
			return old, xsync.CancelOp
		}
		return pair[V]{value, t}, xsync.UpdateOp // Linearization point of SetTimer.
	})
	return err
}

// MoveTimer is Move for callers who do not ask whether the key was known.
func (w *Wheel[K, V]) MoveTimer(key K, delay time.Duration) error {
	_, err := w.Move(key, delay)
	return err
}

// Move gives the pair of key another delay, from now, with the meaning it has
// in SetTimer. It reports whether there was one; an unknown key is no error.
//
// It takes constant time and allocates nothing, unless the pair is about to
// expire: its timeout came due, and its callback has not begun. Then the pair is
// scheduled anew, which costs what a new key costs in SetTimer.
//
// It returns ErrClosed, ErrKey, or the error of the timer's NewTimeout; then
// nothing has changed.
func (w *Wheel[K, V]) Move(key K, delay time.Duration) (moved bool, err error) {
	if err := w.usable(key); err != nil {
		return false, err
	}
	p, known := w.pairs.Load(key)
	if !known {
		return false, nil
	}
	if p.timeout.Reset(delay) { // Linearization point of Move (K4).
		return true, nil
	}
	return w.rearm(key, delay)
}

// rearm is the slow path of Move: the timeout that Move saw has ended.
func (w *Wheel[K, V]) rearm(key K, delay time.Duration) (moved bool, err error) {
	w.pairs.Compute(key, func(p pair[V], known bool) (pair[V], xsync.ComputeOp) {
		if !known {
			return p, xsync.CancelOp
		}
		var t hwt.Timeout
		if t, err = w.arm(key, p.timeout, delay); err != nil {
			return p, xsync.CancelOp
		}
		moved = true
		return pair[V]{p.value, t}, xsync.UpdateOp
	})
	return moved, err
}

// RemoveTimer is Remove for callers who do not ask whether the key was known.
func (w *Wheel[K, V]) RemoveTimer(key K) error {
	_, err := w.Remove(key)
	return err
}

// Remove forgets the pair of key: its callback will not run. It reports whether
// there was one; an unknown key is no error. It takes constant time and
// allocates nothing.
//
// It returns ErrClosed or ErrKey.
func (w *Wheel[K, V]) Remove(key K) (removed bool, err error) {
	if err := w.usable(key); err != nil {
		return false, err
	}
	w.pairs.Compute(key, func(p pair[V], known bool) (pair[V], xsync.ComputeOp) {
		if !known {
			return p, xsync.CancelOp
		}
		p.timeout.Cancel() // false: it came due, and will find nothing
		removed = true
		return p, xsync.DeleteOp // Linearization point of Remove.
	})
	return removed, nil
}

// usable returns the error of an operation on key, if it cannot be tried.
func (w *Wheel[K, V]) usable(key K) error {
	if w.closed.Load() {
		return ErrClosed
	}
	if !w.check.OK(key) {
		return ErrKey
	}
	return nil
}

// Get returns the value pending under key. It takes constant time, no lock, and
// allocates nothing. After Stop there is none.
func (w *Wheel[K, V]) Get(key K) (value V, ok bool) {
	if w.usable(key) != nil {
		return value, false
	}
	p, ok := w.pairs.Load(key)
	return p.value, ok
}

// Has reports whether a pair is pending under key. It costs what Get costs.
func (w *Wheel[K, V]) Has(key K) bool {
	_, ok := w.Get(key)
	return ok
}

// Len returns how many pairs are pending. It takes constant time. While the
// wheel changes, it is the number at no certain moment.
func (w *Wheel[K, V]) Len() int { return max(w.pairs.Size(), 0) }

// All yields the pending pairs, in no order, each key at most once. The loop may
// use the wheel. What changes meanwhile is seen or not.
func (w *Wheel[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		w.pairs.Range(func(key K, p pair[V]) bool { return yield(key, p.value) })
	}
}

// Stats is a snapshot of what became of a wheel's pairs. Those that Remove ended
// are not counted, since that would slow it down.
type Stats struct {
	Pending   int   // pairs that have not ended
	Fired     int64 // pairs whose callback was run
	Drained   int64 // pairs that Drain took
	Cancelled int64 // pairs that Stop found pending
}

// Stats returns a snapshot of the counts.
func (w *Wheel[K, V]) Stats() Stats {
	return Stats{
		Pending:   w.Len(),
		Fired:     w.fired.Load(),
		Drained:   w.drained.Load(),
		Cancelled: w.cancelled.Load(),
	}
}

// Stop cancels all that is pending, which Stats counts as Cancelled. From now on
// every call gives ErrClosed, and those without an error find nothing. Stop
// takes time proportional to what is pending; every call after the first does
// nothing.
//
// It does not wait for callbacks that have begun, and may be called from inside
// one. The timer goes on.
func (w *Wheel[K, V]) Stop() {
	if !w.closed.CompareAndSwap(false, true) { // Linearization point of Stop.
		return
	}
	w.sweep(func(K, V) { w.cancelled.Add(1) })
}

// sweep takes out every pair that is pending and calls f with it. f must not use
// the wheel (K2).
func (w *Wheel[K, V]) sweep(f func(K, V)) {
	w.pairs.DeleteMatching(func(key K, p pair[V]) (remove, stop bool) {
		p.timeout.Cancel()
		f(key, p.value)
		return true, false
	})
}

// String tells how many pairs are pending, and on which timer.
func (w *Wheel[K, V]) String() string {
	return fmt.Sprintf("keyed.Wheel(%d pending on %v)", w.Len(), w.timer)
}
