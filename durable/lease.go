package durable

import (
	"context"
	"errors"
	"sync"
	"time"
)

// leaseKeeper keeps a Work registered with the database. A term is the time from one
// registration to the loss of its lease. The roles of a Work compare the term of a row with the
// present one: rows of an earlier term belong to other workers that may be firing them.
type leaseKeeper struct {
	env    *env
	sweep  *sweep
	rejoin chan struct{}   // wakes run: the lease was lost
	work   context.Context // parent of calls. Immutable.

	mu      sync.Mutex
	id      int64                   // of the worker, or 0. Guarded by mu.
	term    uint64                  // grows with each registration. Guarded by mu.
	until   time.Time               // its end, counted from the sending of the last renewal. Written by run, guarded by mu.
	ended   bool                    // the lease of the term did not last. Guarded by mu.
	calls   context.Context         // parent of the handlers' contexts in this term. Guarded by mu.
	endCall context.CancelCauseFunc // ends calls. Guarded by mu.
}

func newLeaseKeeper(e *env, s *sweep, work context.Context) *leaseKeeper {
	l := &leaseKeeper{env: e, sweep: s, rejoin: make(chan struct{}, 1), work: work}
	l.calls, l.endCall = context.WithCancelCause(work)
	return l
}

// valid reports whether the lease lasts, by the monotonic clock and by the wall clock: Linux's
// monotonic clock stands still while the machine sleeps. Once it has not lasted, it never does
// again: rows were dropped, and a late renewal would keep these from other workers. The caller
// holds mu.
func (l *leaseKeeper) valid() bool {
	if l.id == 0 || l.ended {
		return false
	}
	now := time.Now()
	l.ended = !now.Before(l.until) || !now.Round(0).Before(l.until.Round(0))
	return !l.ended
}

// current returns the worker's id, the term, and whether the lease lasts.
func (l *leaseKeeper) current() (id int64, term uint64, valid bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.term, l.valid()
}

// holds reports whether the lease of the term lasts.
func (l *leaseKeeper) holds(term uint64) bool {
	_, current, valid := l.current()
	return valid && current == term
}

// callContext returns the parent of handlers' contexts in the present term.
func (l *leaseKeeper) callContext() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// run registers the worker and renews its lease until ctx ends.
func (l *leaseKeeper) run(ctx context.Context) {
	ttl := l.env.options.Lease
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.rejoin:
		}
		pause := ttl / 4
		if err := l.renew(ctx, ttl); err != nil && ctx.Err() == nil {
			if !errors.Is(err, ErrClosed) { // after which the fetcher ends Work, though handlers may still run
				l.env.trouble("durable: cannot renew the worker's lease; retrying", err)
			}
			pause = ttl / 20
			if _, _, valid := l.current(); valid { // the contexts of handlers end with the lease
				pause = min(pause, time.Until(l.until))
			}
		}
		timer.Reset(pause)
	}
}

// renew renews the lease, or registers again after it ended. It waits for the database until the
// lease ends, so that handlers' contexts end then.
func (l *leaseKeeper) renew(ctx context.Context, ttl time.Duration) error {
	id, _, valid := l.current()
	sent := time.Now()
	deadline := l.until // which no other goroutine changes
	if !valid {
		l.lost(id)
		id, deadline = 0, sent.Add(ttl)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	renewed, err := l.env.backend.Heartbeat(ctx, id, ttl)
	if err == nil {
		l.renewed(id, renewed, sent.Add(ttl))
	}
	if _, _, valid := l.current(); !valid || errors.Is(err, ErrLeaseLost) {
		l.lost(id)
	} else if id == 0 {
		l.sweep.wantNow()
	}
	return err
}

// renewed notes the answer to a heartbeat of worker id. id is 0 for a registration.
func (l *leaseKeeper) renewed(id, answer int64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 {
		l.id, l.ended = answer, false
		l.term++
	}
	if l.id == answer { // it was not lost while the database answered
		l.until = until
	}
}

// lost ends the term of worker id, if that is the present one: handlers' contexts end, and each role
// drops the rows of the term when it next handles them.
func (l *leaseKeeper) lost(id int64) {
	l.mu.Lock()
	had := id != 0 && l.id == id
	if had {
		l.id = 0
		l.endCall(ErrLeaseLost)
		l.calls, l.endCall = context.WithCancelCause(l.work)
	}
	l.mu.Unlock()
	if had {
		l.env.options.Logger.Warn("durable: the worker's lease was lost; other workers take over its entries")
		request(l.rejoin)
	}
}

// returnRows returns the rows that were leased and not claimed to the database.
func (l *leaseKeeper) returnRows() {
	id, _, valid := l.current()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if err := l.env.backend.Free(ctx, id); err != nil {
		l.env.trouble("durable: cannot free leased entries; they wait until Work ends", err)
	}
}

// leave ends the lease.
func (l *leaseKeeper) leave() {
	id, _, valid := l.current()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if _, err := l.env.backend.Heartbeat(ctx, id, 0); err != nil {
		l.env.trouble("durable: cannot end the worker's lease; it expires later", err)
	}
}
