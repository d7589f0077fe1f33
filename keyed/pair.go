package keyed

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// The table defines the pending pairs. The event of a pair only triggers a look at the
// pair.
//
//	K1. A pair is pending while it is in the table. It ends when it is removed, and the code
//	    that removes it carries out this end. A pair ends once.
//	K2. The table and the pairs in it change only under the lock of their stripe. The timer's
//	    Reset and Deadline are called there; they do not wait. User code is never called there.
//	    Arm is called before: it may hold back a caller that schedules fast while the timer's
//	    worker is late, and the worker needs the lock. Cases that are rare, or run where the
//	    timer runs its tasks, call it under the lock: an early task, a rejection, and a
//	    Debouncer's pair that has fired.
//	K3. A pair enters the table once, with an armed event, and keeps its key.
//	K4. The latest Arm of a pair, and no other, ends it: a task does nothing if the event
//	    is pending again.
//	K5. A pending event belongs to a pair in the table; or the operation that removed the pair,
//	    or created it in vain, is about to cancel the event.
//
// Races and outcomes:
//
//	Set with expiry      The lock decides. If Reset fails, the event has fired, and a
//	                     new pair replaces the old one. The task of the old pair then
//	                     finds another pair in the table. Move and SetIfSooner are
//	                     the same.
//	Set with its task    The event of a new pair may fire before Set has put the pair
//	                     into the table. Set then arms the event again.
//	Set with Set         The one that comes second to the table resets the event
//	                     of the first, and cancels the other.
//	Delete with expiry   The one that removes the pair wins (K1).
//	Rejected with all    The same as expiry (K4).
//	Set with Close       Set checks closed under the lock. Close sets closed before
//	                     it sweeps the stripe. The pair is therefore rejected or
//	                     swept.
//	Update with all      A change of the value marks the running Updates of the
//	                     pair. A pair that ended is no longer in the table.

// pair is a key with a value and an event. On an engine of this module a key costs one
// allocation, of 64 bytes for an int64 key and a pointer. The order of the fields lets a
// value of no size take no memory, and lets the event's address be the pair's.
type pair[K comparable, V any] struct {
	event hwt.Event // armed before the pair is in the table. First, see pairOf.
	value V         // Guarded by the stripe's mu while p is in the table, then owned by the code that removed p.
	key   K         // Immutable.
}

// task is the task of all events of a wheel.
type task[K comparable, V any] Wheel[K, V]

// wheel returns the wheel that has t as the task.
func (t *task[K, V]) wheel() *Wheel[K, V] { return (*Wheel[K, V])(t) }

// pairOf returns the pair that a timer has passed to the task of the event.
func pairOf[K comparable, V any](timeout hwt.Timeout) (*pair[K, V], error) {
	e, ok := timeout.(*hwt.Event)
	if !ok {
		return nil, fmt.Errorf("keyed: the timer passed a %T to the task of an event (expected: the *hwt.Event)", timeout)
	}
	return (*pair[K, V])(unsafe.Pointer(e)), nil
}

// newPair returns a pair that is not yet in the table. The event of the pair is due after
// delay. A panic of a user's timer would leave a lock held.
func (w *Wheel[K, V]) newPair(key K, delay time.Duration) (p *pair[K, V], err error) {
	p = &pair[K, V]{key: key}
	usercode.Run(func() {
		if err = w.init(&p.event, (*task[K, V])(w)); err == nil {
			err = p.event.Arm(delay)
		}
	}, func(failed error) { err = timerFailed(failed) })
	return p, err
}

// initOf returns the function that initializes events on timer.
func initOf(timer hwt.Timer) func(*hwt.Event, hwt.TimerTask) error {
	if t, ok := timer.(hwt.EventTimer); ok {
		return t.InitEvent
	}
	return func(e *hwt.Event, task hwt.TimerTask) error { return e.Init(timer, task) }
}

// awaken arms the event of p if the event has fired before p enters the table. The task of
// the event has not found p there, or will find the event pending.
func (p *pair[K, V]) awaken(delay time.Duration) error {
	if !p.event.IsExpired() {
		return nil
	}
	return p.armAgain(delay)
}

// armAgain arms the event of p after the event has fired.
func (p *pair[K, V]) armAgain(delay time.Duration) (err error) {
	usercode.Run(func() { err = p.event.Arm(delay) }, func(failed error) { err = timerFailed(failed) })
	return err
}

func timerFailed(err error) error { return fmt.Errorf("keyed: NewTimeout of the timer: %w", err) }

// take returns the value of the removed pair p, and clears the value in p. The timer may
// keep a cancelled event, and thereby p, until its next tick.
func (p *pair[K, V]) take() (value V) {
	value, p.value = p.value, value
	return value
}
