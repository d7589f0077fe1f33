package keyed

import (
	"errors"
	"math"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
)

// Set schedules value under key, to expire delay from now. A known key gets the
// new value and the new delay; no callback runs for the old value.
// A pair with a delay of zero or less expires at the next opportunity.
//
// It takes constant time and three allocations, including the timer's. A known
// key gets a new timeout, and then the old one is cancelled. If the timer has no
// room for another pending timeout, the old one is reset instead, and then a
// concurrent Move may report true without effect.
//
// Set returns ErrClosed, ErrKey, or the error of the timer's NewTimeout. On an
// error nothing has changed.
func (w *Wheel[K, V]) Set(key K, value V, delay time.Duration) error {
	err := w.usable(key)
	if err != nil {
		return err
	}
	w.pairs.Compute(key, func(old pair[K, V], _ bool) (pair[K, V], xsync.ComputeOp) {
		var timeout hwt.Timeout
		if timeout, err = w.replace(key, old.timeout, delay); err != nil {
			return old, xsync.CancelOp
		}
		return pair[K, V]{value, timeout}, xsync.UpdateOp // Linearization point of Set.
	})
	return err
}

// SetIfAbsent is Set for an unknown key. If key is known, it changes nothing and
// returns false.
func (w *Wheel[K, V]) SetIfAbsent(key K, value V, delay time.Duration) (set bool, err error) {
	if err := w.usable(key); err != nil {
		return false, err
	}
	w.pairs.Compute(key, func(old pair[K, V], known bool) (pair[K, V], xsync.ComputeOp) {
		if known {
			return old, xsync.CancelOp
		}
		var timeout hwt.Timeout
		if timeout, err = w.schedule(key, delay); err != nil {
			return old, xsync.CancelOp
		}
		set = true
		return pair[K, V]{value, timeout}, xsync.UpdateOp // Linearization point of SetIfAbsent.
	})
	return set, err
}

// SetIfSooner is Set for a key that is unknown, or whose pair is due later than
// delay from now. Otherwise it changes nothing and returns false, takes no lock, and
// allocates nothing. It does not change a pair whose timeout has expired.
func (w *Wheel[K, V]) SetIfSooner(key K, value V, delay time.Duration) (set bool, err error) {
	if err := w.usable(key); err != nil {
		return false, err
	}
	if p, known := w.pairs.Load(key); known && !p.isLater(delay) {
		return false, nil // Linearization point: the pair had this due time until now, or until it ended.
	}
	w.pairs.Compute(key, func(old pair[K, V], known bool) (p pair[K, V], op xsync.ComputeOp) {
		if known && !old.isLater(delay) {
			return old, xsync.CancelOp
		}
		if p, set, err = w.advance(key, value, old, delay); err != nil {
			return old, xsync.CancelOp
		}
		return p, xsync.UpdateOp // Linearization point of SetIfSooner.
	})
	return set, err
}

// advance returns the pair that replaces old, which was due later than delay from
// now or does not exist. If a Move has made old due sooner in the meantime, advance
// keeps its value and due time, and set is false. The caller holds the lock of the
// key's bucket.
func (w *Wheel[K, V]) advance(key K, value V, old pair[K, V], delay time.Duration) (p pair[K, V], set bool, err error) {
	timeout, err := w.schedule(key, delay)
	switch {
	case err == nil && old.timeout == nil:
		return pair[K, V]{value, timeout}, true, nil
	case errors.Is(err, hwt.ErrTooManyPending) && old.timeout != nil && old.timeout.Reset(delay):
		return pair[K, V]{value, relink(old.timeout)}, true, nil
	case err != nil:
		return old, false, err
	case !old.timeout.Cancel(): // moved, and expired
		timeout.Cancel()
		return old, false, nil
	case old.isLater(delay): // for good: no Move resets a cancelled timeout
		return pair[K, V]{value, timeout}, true, nil
	}
	timeout.Reset(time.Until(old.timeout.Deadline())) // false if it has expired: the pair is due anyway
	return pair[K, V]{old.value, timeout}, false, nil
}

// isLater reports whether p is due later than delay from now.
func (p pair[K, V]) isLater(delay time.Duration) bool {
	due := p.timeout.Deadline()
	return due.IsZero() && delay < math.MaxInt64 || time.Until(due) > max(delay, 0)
}

// Move makes the pair of key expire delay from now, with the meaning that delay
// has in Set. It reports whether there was a pair; an unknown key is not an
// error.
//
// It takes constant time and allocates nothing. Only if the pair's timeout has
// expired and its callback has not begun, the pair gets a new timeout, at the cost of
// a Set.
//
// Move returns ErrClosed, ErrKey, or the error of the timer's NewTimeout. On an
// error nothing has changed.
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
	return w.moveExpired(key, delay)
}

// moveExpired is the slow path of Move: the timeout that Move found has ended.
func (w *Wheel[K, V]) moveExpired(key K, delay time.Duration) (moved bool, err error) {
	w.pairs.Compute(key, func(p pair[K, V], known bool) (pair[K, V], xsync.ComputeOp) {
		if !known {
			return p, xsync.CancelOp
		}
		var timeout hwt.Timeout
		if timeout, err = w.postpone(key, p.timeout, delay); err != nil {
			return p, xsync.CancelOp
		}
		moved = true
		return pair[K, V]{p.value, timeout}, xsync.UpdateOp
	})
	return moved, err
}

// Delete deletes the pair of key, whose callback then does not run. It reports
// whether there was a pair; an unknown key is not an error. It takes constant time and
// allocates nothing.
//
// Delete returns ErrClosed or ErrKey.
func (w *Wheel[K, V]) Delete(key K) (deleted bool, err error) {
	_, deleted, err = w.LoadAndDelete(key)
	return deleted, err
}

// LoadAndDelete is Delete that also returns the value of the pair.
func (w *Wheel[K, V]) LoadAndDelete(key K) (value V, ok bool, err error) {
	if err := w.usable(key); err != nil {
		return value, false, err
	}
	w.take(key, func(p pair[K, V]) { value, ok = p.value, true })
	return value, ok, nil
}
