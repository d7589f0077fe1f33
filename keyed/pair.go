package keyed

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// The map defines the pending pairs. Timeouts only trigger a look at it.
//
//	K1. A pair is pending while it is in the map. It ends when it is deleted from
//	    the map, and the code that deletes it carries out this end. A pair
//	    therefore ends once.
//	K2. The map changes only inside Compute and DeleteMatching, which hold the
//	    lock of the key's bucket. The timer's NewTimeout, Reset and Cancel are
//	    called there, since they block for a few milliseconds at most. User code is
//	    never called there.
//	K3. Pairs and alarms are immutable. Readers need no lock.
//	K4. A pending timeout is the one that the map has for its key, unless the
//	    holder of the bucket's lock is putting it there: a timeout is cancelled
//	    before its pair is deleted or replaced, under the same lock.
//	K5. An alarm acts for the pair of its key if the pair's timeout has expired,
//	    although that may be a later timeout than its own, whose alarm then finds
//	    nothing. It cannot compare the two, because a timer may wrap the handle that
//	    a task receives.
//	K6. A pair whose value changes gets another timeout, or a new link to the same
//	    one. Equal timeouts therefore mean equal values, which lets Update compare
//	    and swap. Handles that Go cannot compare are linked.
//
// The races and their outcomes:
//
//	Move with expiry     If Reset succeeds, it reset the key's timeout, by K4. If
//	                     not, the timeout has expired, and the bucket's lock
//	                     decides: Move finds the pair and gives it a new timeout,
//	                     or the alarm of the old one deleted it before.
//	Set with expiry      The bucket's lock decides. An alarm that finds a pending
//	                     timeout in the map does nothing (K5).
//	Delete with expiry   The one that deletes the pair wins (K1).
//	Refused with all     The same as expiry: an alarm that finds a pending timeout
//	                     in the map does nothing.
//	Set with Close       Set checks closed under the bucket's lock. Close sets
//	                     closed before it sweeps the bucket. The pair is therefore
//	                     rejected or swept.
//	SetIfSooner with     Without the lock, it may only find that the pair is due
//	the others           no later: a deadline that it reads is that of the pair at
//	                     that moment, or when the pair ended since it was loaded.
//	                     With the lock, it cancels the timeout before it decides,
//	                     because a Move resets the timeout without the lock.

// pair is the map's value for a key.
type pair[K comparable, V any] struct {
	value   V           // Immutable.
	timeout hwt.Timeout // Immutable.
}

// alarm is the task of a timeout.
type alarm[K comparable, V any] struct {
	wheel *Wheel[K, V] // Immutable.
	key   K            // Immutable.
}

// link is the timeout of a pair that changed and kept its timeout. Its address
// distinguishes the pair from its earlier versions (K6).
type link struct{ hwt.Timeout }

// relink returns a new link to timeout.
func relink(timeout hwt.Timeout) hwt.Timeout {
	if l, ok := timeout.(*link); ok {
		timeout = l.Timeout
	}
	return &link{timeout}
}

// replace returns a timeout for a pair that replaces the one with the timeout
// current, which is nil for a new key. It is a new timeout, so that a racing Move
// either reset the old one, and came before, or finds it ended, and comes after
// (K4). Only if the timer has no room for both is the old timeout reset. The caller
// holds the lock of the key's bucket.
func (w *Wheel[K, V]) replace(key K, current hwt.Timeout, delay time.Duration) (hwt.Timeout, error) {
	timeout, err := w.schedule(key, delay)
	switch {
	case current == nil:
		return timeout, err
	case err == nil:
		current.Cancel()
	case errors.Is(err, hwt.ErrTooManyPending) && current.Reset(delay):
		return relink(current), nil
	}
	return timeout, err
}

// postpone returns a timeout for key that expires delay from now: the current
// one, or a new one if that has ended. The caller holds the lock of the key's
// bucket.
func (w *Wheel[K, V]) postpone(key K, current hwt.Timeout, delay time.Duration) (hwt.Timeout, error) {
	if !w.closed.Load() && current.Reset(delay) {
		return current, nil
	}
	return w.schedule(key, delay)
}

// schedule returns a new timeout for key. The caller holds the lock of the key's
// bucket, which a panic of a user's timer would leave locked.
func (w *Wheel[K, V]) schedule(key K, delay time.Duration) (timeout hwt.Timeout, err error) {
	if w.closed.Load() {
		return nil, ErrClosed
	}
	usercode.Run(func() { timeout, err = w.timer.NewTimeout(&alarm[K, V]{w, key}, delay) },
		func(failed error) { err = fmt.Errorf("keyed: NewTimeout of the timer: %w", failed) })
	if err == nil && !reflect.TypeOf(timeout).Comparable() {
		timeout = &link{timeout}
	}
	return timeout, err
}
