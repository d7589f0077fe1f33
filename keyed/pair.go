package keyed

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// The table defines the pending pairs. Timeouts only trigger a look at it. A pair is also
// the task of its timeouts, so that on a timing wheel a key costs two allocations: its pair
// and the timer's.
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
//	Update with all      A change of the value marks the running Updates of the
//	                     pair. A pair that ended is no longer in the table.

// pair is a key with its value, and the task of its timeouts. The order of the fields
// lets a value of no size take no memory. A timing wheel's timeout takes one word instead of
// an interface's two, so a pair of a string key and no value has 32 bytes, and not 48, the
// allocator's next size.
type pair[K comparable, V any] struct {
	owner   atomic.Pointer[owner[K, V]] // Atomic: written under the stripe's mu, read by tasks before they lock it.
	key     K                           // Immutable.
	value   V                           // Guarded by the stripe's mu while p is in the table, then owned by the code that removed p.
	timeout *engine.Timeout             // nil before the pair is in the table, and if owner has the timeout; or early. Guarded by the stripe's mu.
}

// owner is the wheel of a pair. Pairs share the owner in their wheel, unless their timeout
// is not a timing wheel's but another engine's or a wrapper's.
type owner[K comparable, V any] struct {
	wheel   *Wheel[K, V] // Immutable.
	timeout hwt.Timeout  // nil if the owner is shared. Immutable.
}

// early marks a pair whose task ran before the pair was in the table.
var early = new(engine.Timeout)

// newPair returns a pair that is not yet in the table.
func (w *Wheel[K, V]) newPair(key K) *pair[K, V] {
	p := &pair[K, V]{key: key}
	p.owner.Store(&w.owner)
	return p
}

// wheel returns the wheel of p.
func (p *pair[K, V]) wheel() *Wheel[K, V] { return p.owner.Load().wheel }

// handle returns the current timeout of p. It is nil before p is in the table, or early.
func (p *pair[K, V]) handle() hwt.Timeout {
	if p.timeout != nil {
		return p.timeout
	}
	return p.owner.Load().timeout
}

// setHandle makes t the current timeout of p. The caller holds the lock of the stripe.
func (p *pair[K, V]) setHandle(t hwt.Timeout) {
	p.timeout, _ = t.(*engine.Timeout)
	if p.timeout == nil {
		p.owner.Store(&owner[K, V]{p.wheel(), t})
	}
}

// take returns the value of p, which has been removed, and forgets it. The timer may keep a
// cancelled timeout, and thereby p, until it next looks at its timeouts.
func (p *pair[K, V]) take() (value V) {
	value, p.value = p.value, value
	return value
}

// schedule returns a new timeout for p. A panic of a user's timer would leave a lock
// held.
func (p *pair[K, V]) schedule(delay time.Duration) (timeout hwt.Timeout, err error) {
	usercode.Run(func() { timeout, err = p.wheel().timer.NewTimeout(p, delay) },
		func(failed error) { err = fmt.Errorf("keyed: NewTimeout of the timer: %w", failed) })
	return timeout, err
}
