package keyed

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// The map tells what is pending; timeouts only say when to look at it.
//
//	K1. A pair is pending as long as it is in the map. It ends when it is deleted
//	    from there, and whoever deletes it does what that end asks for. So it
//	    ends once.
//	K2. The map changes only inside Compute and DeleteMatching, which hold the
//	    lock of the key's bucket. The timer's NewTimeout, Reset and Cancel are
//	    called there, since none of them waits for anything; users' code never
//	    is.
//	K3. Pairs and triggers are immutable. Readers need no lock.
//	K4. A timeout that is pending is its key's timeout in the map, unless the
//	    holder of the bucket's lock is about to put it there. For a timeout is
//	    cancelled before its pair is deleted or replaced, under the same lock.
//	K5. Each timeout has a trigger of its own as its task, by which it is told
//	    from those before and after it.
//
// The races, and what settles them:
//
//	Move with expiry     Reset succeeds, and by K4 it was the key's timeout that
//	                     it moved; or the timeout has come due, and the bucket's
//	                     lock decides: Move finds the pair and gives it a new
//	                     timeout, or the old one's trigger took it before.
//	Set with expiry      the same under the lock. A trigger that finds another's
//	                     timeout in the map fires nothing (K5).
//	Remove with expiry   whoever deletes the pair (K1).
//	Set with Stop        Set looks at closed under the bucket's lock; Stop sets
//	                     closed before it visits the bucket. So the pair is
//	                     refused, or swept.

// pair is what the map holds for a key.
type pair[V any] struct {
	value   V           // Immutable.
	timeout hwt.Timeout // Immutable.
}

// trigger is the task of a timeout: 16 bytes with a key of 8.
type trigger[K comparable, V any] struct {
	wheel *Wheel[K, V] // Immutable.
	key   K            // Immutable.
}

// Run implements hwt.TimerTask: the timeout of t came due.
func (t *trigger[K, V]) Run(hwt.Timeout) error {
	if value, ok := t.wheel.expire(t); ok {
		t.wheel.fired.Add(1)
		t.wheel.execute(t.key, value)
	}
	return nil
}

// expire takes the pair of t out of the map, if it is still there (K1).
func (w *Wheel[K, V]) expire(t *trigger[K, V]) (value V, ok bool) {
	w.pairs.Compute(t.key, func(p pair[V], known bool) (pair[V], xsync.ComputeOp) {
		if !known || p.timeout.Task() != hwt.TimerTask(t) {
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		return p, xsync.DeleteOp // Linearization point of expiry.
	})
	return value, ok
}

// arm returns a timeout for key that comes due delay from now: the current one,
// or a new one if it has ended. Under the lock of the key's
// bucket.
func (w *Wheel[K, V]) arm(key K, current hwt.Timeout, delay time.Duration) (hwt.Timeout, error) {
	if w.closed.Load() {
		return nil, ErrClosed
	}
	if current.Reset(delay) {
		return current, nil
	}
	return w.schedule(key, delay)
}

// replace returns a timeout for a pair that takes the place of the one with
// current, which is nil if there is none. It is a new one, so that a racing Move
// either moved the old one, and came before, or finds it ended, and comes after
// (K4). Only where the timer has no room for both, the old one is moved. Under
// the lock of the key's bucket.
func (w *Wheel[K, V]) replace(key K, current hwt.Timeout, delay time.Duration) (hwt.Timeout, error) {
	t, err := w.schedule(key, delay)
	switch {
	case current == nil:
		return t, err
	case err == nil:
		current.Cancel()
	case errors.Is(err, hwt.ErrTooManyPending) && current.Reset(delay):
		return current, nil
	}
	return t, err
}

// schedule returns a new timeout for key. Under the lock of the key's bucket,
// which a panic of somebody else's timer would leave locked for ever.
func (w *Wheel[K, V]) schedule(key K, delay time.Duration) (_ hwt.Timeout, err error) {
	if w.closed.Load() {
		return nil, ErrClosed
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("keyed: the timer's NewTimeout panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return w.timer.NewTimeout(&trigger[K, V]{wheel: w, key: key}, delay)
}
