package keyed

import (
	"errors"
	"fmt"
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
//	    called there, since they do not block. User code is never called there.
//	K3. Pairs are immutable, and so are alarms once they are in the map. Readers
//	    need no lock.
//	K4. A pending timeout is the one that the map has for its key, unless the
//	    holder of the bucket's lock is putting it there: a timeout is cancelled
//	    before its pair is deleted or replaced, under the same lock.
//	K5. Each timeout has its alarm as its task. A pair belongs to the
//	    alarm that the map has beside its value, or to the origin of that alarm's
//	    linked timeout. The wheel never asks a timeout for its task, because a
//	    timer may wrap both.
//	K6. A pair whose value changes gets another alarm. Equal alarms therefore mean
//	    equal values, which lets Update compare and swap.
//
// The races and their outcomes:
//
//	Move with expiry     If Reset succeeds, it reset the key's timeout, by K4. If
//	                     not, the timeout has expired, and the bucket's lock
//	                     decides: Move finds the pair and gives it a new timeout,
//	                     or the alarm of the old one deleted it before.
//	Set with expiry      The bucket's lock decides. An alarm that finds another
//	                     alarm in the map does nothing (K5).
//	Delete with expiry   The one that deletes the pair wins (K1).
//	Refused with all     The same as expiry: an alarm that is not the task of the
//	                     pair in the map does nothing.
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
	value V            // Immutable.
	alarm *alarm[K, V] // Immutable.
}

// alarm is the task of a timeout.
type alarm[K comparable, V any] struct {
	wheel   *Wheel[K, V] // Immutable.
	key     K            // Immutable.
	timeout hwt.Timeout  // Immutable once the alarm is in the map (K3).
}

// linked is the timeout of a pair that changed and kept its timeout. Its alarm is a
// new one, so that the pair can be distinguished from its earlier versions. The
// task of the timeout is still the alarm origin.
type linked[K comparable, V any] struct {
	hwt.Timeout
	origin *alarm[K, V] // Immutable.
}

// relink returns a new alarm with the timeout of a.
func (a *alarm[K, V]) relink() *alarm[K, V] {
	timeout := a.timeout
	if _, ok := timeout.(*linked[K, V]); !ok {
		timeout = &linked[K, V]{timeout, a}
	}
	return &alarm[K, V]{a.wheel, a.key, timeout}
}

// isTask reports whether a is the task of p's timeout (K5).
func (a *alarm[K, V]) isTask(p pair[K, V]) bool {
	if p.alarm == a {
		return true
	}
	l, ok := p.alarm.timeout.(*linked[K, V])
	return ok && l.origin == a
}

// replace returns an alarm for a pair that replaces the one with the alarm
// current, which is nil for a new key. It is a new alarm with a new timeout, so
// that a racing Move either reset the old timeout, and came before, or finds it
// ended, and comes after (K4). Only if the timer has no room for both is the old
// timeout reset. The caller holds the lock of the key's bucket.
func (w *Wheel[K, V]) replace(key K, current *alarm[K, V], delay time.Duration) (*alarm[K, V], error) {
	a, err := w.schedule(key, delay)
	switch {
	case current == nil:
		return a, err
	case err == nil:
		current.timeout.Cancel()
	case errors.Is(err, hwt.ErrTooManyPending) && current.timeout.Reset(delay):
		return current.relink(), nil
	}
	return a, err
}

// postpone returns an alarm for key that expires delay from now: the current
// one, or a new one if its timeout has ended. The caller holds the lock of the
// key's bucket.
func (w *Wheel[K, V]) postpone(key K, current *alarm[K, V], delay time.Duration) (*alarm[K, V], error) {
	if !w.closed.Load() && current.timeout.Reset(delay) {
		return current, nil
	}
	return w.schedule(key, delay)
}

// schedule returns a new alarm for key. The caller holds the lock of the key's
// bucket, which a panic of a user's timer would leave locked.
func (w *Wheel[K, V]) schedule(key K, delay time.Duration) (a *alarm[K, V], err error) {
	if w.closed.Load() {
		return nil, ErrClosed
	}
	a = &alarm[K, V]{wheel: w, key: key}
	usercode.Run(func() { a.timeout, err = w.timer.NewTimeout(a, delay) },
		func(failed error) { err = fmt.Errorf("keyed: NewTimeout of the timer: %w", failed) })
	return a, err
}
