package cache

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// retryDelay is the delay of the alarm after a rejection by the timer's executor.
const retryDelay = time.Second

// alarm is the only timeout of a cache. The alarm goes off when the first entry may be due.
// The alarm is also the task of the timeout, and an executor may still run that task for an
// earlier timeout.
type alarm struct {
	timer   hwt.Timer       // Immutable after New.
	ring    func()          // expires due entries and arms the alarm again. Immutable after New.
	refused func(err error) // called if the executor rejects the task. Immutable after New.

	mu      sync.Mutex
	ended   bool                        // Guarded by mu.
	due     atomic.Int64                // when the alarm goes off, or never. Atomic: written under mu, read by arm.
	timeout atomic.Pointer[hwt.Timeout] // the most recent. Atomic: written under mu, read by lookups.
}

// Run implements [hwt.TimerTask].
func (a *alarm) Run(hwt.Timeout) error {
	a.mu.Lock()
	a.due.Store(never) // An entry that is filed from now on arms the alarm; ring sees the others.
	a.mu.Unlock()
	a.ring()
	return nil
}

// Rejected implements [hwt.RejectedTask].
func (a *alarm) Rejected(_ hwt.Timeout, err error) error {
	a.mu.Lock()
	a.due.Store(never)
	a.mu.Unlock()
	a.refused(err)
	return nil
}

// arm makes the alarm go off at at, unless an earlier time is set.
func (a *alarm) arm(at, now int64) error {
	if a.due.Load() <= at {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due.Load() <= at {
		return nil
	}
	if a.ended {
		return ErrClosed
	}
	if err := a.schedule(time.Duration(at - now)); err != nil {
		return err
	}
	a.due.Store(at)
	return nil
}

// schedule moves the timeout, or makes a new one. A panic of the timer becomes an error,
// because it would leave locks held. Guarded by mu.
func (a *alarm) schedule(delay time.Duration) (err error) {
	usercode.Run(func() {
		if t := a.timeout.Load(); t != nil && (*t).Reset(delay) {
			return
		}
		var t hwt.Timeout
		if t, err = a.timer.NewTimeout(a, delay); err == nil {
			a.timeout.Store(&t)
		}
	}, func(failed error) { err = fmt.Errorf("cache: arming the timer: %w", failed) })
	return err
}

// stopped reports whether the timer was stopped while the alarm was armed.
func (a *alarm) stopped() bool {
	t := a.timeout.Load()
	return t != nil && (*t).IsCancelled()
}

// end cancels the alarm for good.
func (a *alarm) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if t := a.timeout.Load(); t != nil {
		(*t).Cancel()
	}
}
