package durable

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease is a worker's registration with the database.
type lease struct {
	mu    sync.Mutex
	id    int64     // of the worker, or 0. Guarded by mu.
	term  uint64    // grows with each registration. Guarded by mu.
	until time.Time // its end, counted from the sending of the last renewal. Guarded by mu.
	ended bool      // the lease of the term did not last. Guarded by mu.
}

// valid reports whether the lease lasts, by the monotonic clock and by the wall clock: Linux's
// monotonic clock stands still while the machine sleeps. Once it has not lasted, it never does
// again: rows were dropped that a late renewal would keep from others.
func (l *lease) valid() bool {
	if l.id == 0 || l.ended {
		return false
	}
	now := time.Now()
	l.ended = !now.Before(l.until) || !now.Round(0).Before(l.until.Round(0))
	return !l.ended
}

// current returns the worker's id, the term, and whether the lease lasts.
func (l *lease) current() (id int64, term uint64, valid bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.term, l.valid()
}

// holds reports whether the lease of the term lasts.
func (l *lease) holds(term uint64) bool {
	_, current, valid := l.current()
	return valid && current == term
}

// keepLease registers the worker and renews its lease until ctx ends.
func (w *worker) keepLease(ctx context.Context) {
	ttl := w.store.options.Lease
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.rejoin:
		}
		pause := ttl / 4
		if err := w.renew(ctx, ttl); err != nil && ctx.Err() == nil {
			if !errors.Is(err, ErrClosed) { // after which feed ends Work, though handlers may run on
				w.store.trouble("durable: cannot renew the worker's lease; retrying", err)
			}
			pause = ttl / 20
		}
		timer.Reset(pause)
	}
}

// renew renews the lease, or registers anew after it ended. It waits for the database until the
// lease ends, so that handlers' contexts end then.
func (w *worker) renew(ctx context.Context, ttl time.Duration) error {
	id, _, valid := w.lease.current()
	sent := time.Now()
	deadline := w.lease.until // which no other goroutine changes
	if !valid {
		w.lost(id)
		id, deadline = 0, sent.Add(ttl)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	renewed, err := w.store.backend.Heartbeat(ctx, id, ttl)
	if err == nil {
		w.lease.renew(id, renewed, sent.Add(ttl))
	}
	if _, _, valid := w.lease.current(); !valid || errors.Is(err, ErrLeaseLost) {
		w.lost(id)
	} else if id == 0 {
		w.sweepSoon()
	}
	return err
}

// renew notes the answer to a heartbeat of worker id, which is 0 for a registration.
func (l *lease) renew(id, renewed int64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 {
		l.id, l.ended = renewed, false
		l.term++
	}
	if l.id == renewed { // it was not given up meanwhile
		l.until = until
	}
}

// lost gives up the lease of worker id, if that is the present one: handlers' contexts end, and
// rows of the old term are dropped wherever they come by.
func (w *worker) lost(id int64) {
	w.lease.mu.Lock()
	had := id != 0 && w.lease.id == id
	if had {
		w.lease.id = 0
	}
	w.lease.mu.Unlock()
	if had {
		w.log.Warn("durable: the worker's lease was lost; other workers take over its entries")
		w.endHandlers(ErrLeaseLost)
		request(w.rejoin)
	}
}

// free gives the rows that were leased and not claimed to other workers.
func (w *worker) free() {
	id, _, valid := w.lease.current()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if err := w.store.backend.Free(ctx, id); err != nil {
		w.store.trouble("durable: cannot free leased entries; they wait until Work ends", err)
	}
	w.store.wake(w)
}

// leave ends the lease.
func (w *worker) leave() {
	id, _, valid := w.lease.current()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if _, err := w.store.backend.Heartbeat(ctx, id, 0); err != nil {
		w.store.trouble("durable: cannot end the worker's lease; it expires later", err)
	}
}
