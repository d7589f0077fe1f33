package keyed

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// The table defines the pending pairs. Timeouts only trigger a look at it. A pair is also
// the task of its timeouts, so that a key costs two allocations: its pair and the timer's.
//
//	K1. A pair is pending while it is in the table. It ends when it is removed, and
//	    the code that removes it carries out this end. A pair therefore ends once.
//	K2. The table and the pairs in it change only under the lock of their stripe.
//	    The timer's Reset and Deadline are called there, which do not wait. User code
//	    is never called there. NewTimeout is called before: it may hold back a caller
//	    that schedules fast while the timer's worker is late, and the worker needs the
//	    lock. Two rare cases call it under the lock: an early task, and a rejection.
//	K3. A pair enters the table once, with a timeout, and keeps its key.
//	K4. The current timeout of a pair, and no other, ends it: a task does nothing if
//	    that timeout has not expired. It cannot compare handles, because a timer may
//	    wrap the one that a task receives.
//	K5. A pending timeout is the current one of a pair in the table, or about to be
//	    cancelled by the operation that removed the pair, or created one in vain.
//
// The races and their outcomes:
//
//	Set with expiry      The lock decides. If Reset fails, the timeout has expired,
//	                     and a new pair replaces the old one, whose task then
//	                     finds another pair in the table. Move and SetIfSooner are
//	                     the same.
//	Set with its task    The task of a new pair may run before Set has put the pair
//	                     into the table. It leaves a mark in the pair, and Set
//	                     schedules the pair again.
//	Set with Set         The one that comes second to the table resets the timeout
//	                     of the first, and cancels its own.
//	Delete with expiry   The one that removes the pair wins (K1).
//	Rejected with all    The same as expiry (K4).
//	Set with Close       Set checks closed under the lock. Close sets closed before
//	                     it sweeps the stripe. The pair is therefore rejected or
//	                     swept.
//	Update with Close    Update that finds no pair checks closed under the lock: Close
//	                     may have swept it.
//	Update with all      A change of the value marks the running Updates of the
//	                     pair. A pair that ended is no longer in the table.

// pair is a key with its value, and the task of its timeouts. The order of the fields
// lets a value of no size take no memory.
type pair[K comparable, V any] struct {
	wheel   *Wheel[K, V] // Immutable.
	key     K            // Immutable.
	value   V            // Guarded by the stripe's mu while p is in the table, then owned by the code that removed p.
	timeout hwt.Timeout  // nil before the pair is in the table, or early. Guarded by the stripe's mu.
}

// early marks a pair whose task ran before the pair was in the table.
var early hwt.Timeout = &struct{ hwt.Timeout }{}

// take returns the value of p, which has been removed, and forgets it. The timer may keep a
// cancelled timeout, and thereby p, until it next looks at its timeouts.
func (p *pair[K, V]) take() (value V) {
	value, p.value = p.value, value
	return value
}

// schedule returns a new timeout for p. A panic of a user's timer would leave a lock
// held.
func (p *pair[K, V]) schedule(delay time.Duration) (timeout hwt.Timeout, err error) {
	usercode.Run(func() { timeout, err = p.wheel.timer.NewTimeout(p, delay) },
		func(failed error) { err = fmt.Errorf("keyed: NewTimeout of the timer: %w", failed) })
	return timeout, err
}
