package durable

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease is a worker's registration with the database.
type lease struct {
	mu      sync.Mutex
	id      int64         // of the worker, or 0. Guarded by mu.
	term    uint64        // grows with each registration. Guarded by mu.
	renewed time.Time     // sending time of the last renewal. Guarded by mu.
	ttl     time.Duration // Guarded by mu.
	ended   bool          // the lease of the term did not last. Guarded by mu.
}

// valid reports whether the lease lasts, by elapsed monotonic time and by elapsed wall
// time: Linux's monotonic clock stands still while the machine sleeps. Once it has not
// lasted, it never does again: rows were dropped that a late renewal would keep from others.
func (l *lease) valid() bool {
	if l.id == 0 || l.ended {
		return false
	}
	now := time.Now()
	l.ended = now.Sub(l.renewed) >= l.ttl || now.Round(0).Sub(l.renewed.Round(0)) >= l.ttl
	return !l.ended
}

// worker returns the worker's id, and whether its lease lasts.
func (l *lease) worker() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.valid()
}

// current returns the term, and whether the lease lasts.
func (l *lease) current() (uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term, l.valid()
}

// holds reports whether the lease of the term lasts.
func (l *lease) holds(term uint64) bool {
	current, valid := l.current()
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
				w.log.Warn("durable: cannot renew the worker's lease; retrying", "error", err)
			}
			w.lost(err)
			pause = ttl / 20
		}
		timer.Reset(pause)
	}
}

// renew renews the lease, or registers anew after it ended.
func (w *worker) renew(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	id, valid := w.lease.worker()
	if !valid && id != 0 {
		w.lost(ErrLeaseLost)
		id = 0
	}
	sent := time.Now()
	renewed, err := w.store.backend.Heartbeat(ctx, id, ttl)
	if err != nil {
		return err
	}
	w.lease.renew(id, renewed, sent, ttl)
	if id == 0 {
		w.sweepSoon()
	}
	return nil
}

// renew notes the answer to a heartbeat of worker id, which is 0 for a registration.
func (l *lease) renew(id, renewed int64, sent time.Time, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 {
		l.term++
		l.ended = false
	}
	l.id, l.renewed, l.ttl = renewed, sent, ttl
}

// lost gives up the lease if err says that it ended: handlers' contexts end, and rows of
// the old term are dropped wherever they come by.
func (w *worker) lost(err error) {
	if !errors.Is(err, ErrLeaseLost) {
		return
	}
	w.lease.mu.Lock()
	had := w.lease.id != 0
	w.lease.id = 0
	w.lease.mu.Unlock()
	if had {
		w.log.Warn("durable: the worker's lease was lost; other workers take over its entries")
		w.endHandlers(ErrLeaseLost)
		select {
		case w.rejoin <- struct{}{}:
		default:
		}
	}
}

// free gives the rows that were leased and not claimed to other workers.
func (w *worker) free() {
	id, valid := w.lease.worker()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.store.options.Lease)
	defer cancel()
	if err := w.store.backend.Free(ctx, id); err != nil {
		w.log.Warn("durable: cannot free leased entries; they wait until Work ends", "error", err)
	}
	w.store.wake(w)
}

// leave ends the lease.
func (w *worker) leave() {
	id, valid := w.lease.worker()
	if !valid {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.store.options.Lease)
	defer cancel()
	if _, err := w.store.backend.Heartbeat(ctx, id, 0); err != nil {
		w.log.Warn("durable: cannot end the worker's lease; it expires later", "error", err)
	}
}
