package durable

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Store keeps entries in a database. Its Entries run each operation in its own transaction. All
// methods are safe for concurrent use.
type Store struct {
	Entries

	backend backend.Backend
	limits  backend.Limits
	options Options
	clock   dbClock
	counts  counts
	sizes   *sizes
	unwatch func()
	doubt   atomic.Int64 // time of the last call that failed

	mu     sync.Mutex
	works  []*worker            // Works that take near entries. Guarded by mu.
	ends   map[*worker]struct{} // running Works, draining ones included. Guarded by mu.
	turn   uint                 // Work that is offered the next near entry, modulo their number. Guarded by mu.
	closed bool                 // Guarded by mu.
	idle   sync.Cond            // signals that ends shrank

	released   chan struct{} // closed once the database is released
	releaseErr error         // Written before released is closed.
}

// New returns a store on a backend and owns it from then on. It waits for the database's
// clock until ctx ends. It is for authors of backends: programs call Open of durable/sqlite
// or durable/postgres.
func New(ctx context.Context, b backend.Backend, options *Options) (*Store, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	s := &Store{backend: b, limits: b.Limits(), options: o, sizes: newSizes(), ends: make(map[*worker]struct{}), released: make(chan struct{})}
	s.Entries.store = s
	s.idle.L = &s.mu
	s.clock.now = b.Now
	if err := s.clock.measure(ctx); err != nil {
		return nil, fmt.Errorf("durable: Open: %w", err)
	}
	s.unwatch = b.Watch(s.near)
	return s, nil
}

// Name returns the name of Options.
func (s *Store) Name() string { return s.options.Name }

// Backend returns the database of s, for tools that copy whole stores. It is
// experimental, as package backend is.
func (s *Store) Backend() backend.Backend { return s.backend }

// Close ends every Work, waits for running handlers as Work does, and releases the
// database. Calls that are under way return ErrClosed.
//
// Called from a handler of s, Close returns without waiting; a later Close outside the handlers
// of s waits. Keep a connection pool open until that call has returned. A handler must not wait
// for a Close on another goroutine.
func (s *Store) Close() error {
	s.mu.Lock()
	inside := s.inHandler()
	if !s.closed {
		s.closed = true
		for w := range s.ends {
			w.stop(ErrClosed)
		}
		go s.release()
	}
	s.mu.Unlock()
	if inside {
		return nil
	}
	<-s.released
	return s.releaseErr
}

// inHandler reports whether the calling goroutine runs a handler of s. The caller holds mu.
func (s *Store) inHandler() bool {
	id := goroutineID()
	for w := range s.ends {
		if w.runsIn(id) {
			return true
		}
	}
	return false
}

// running returns the number of running handlers, the time since the first of them was called, and
// the due time of the first claimed entry that waits for a handler, or 0.
func (s *Store) running() (n int64, oldest time.Duration, waiting int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.ends {
		more, age := w.running()
		n, oldest = n+more, max(oldest, age)
		if due := w.queue.oldest(); due != 0 && (waiting == 0 || due < waiting) {
			waiting = due
		}
	}
	return n, oldest, waiting
}

// release releases the database after the last Work.
func (s *Store) release() {
	s.mu.Lock()
	for len(s.ends) > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	s.unwatch()
	s.releaseErr = s.backend.Close()
	close(s.released)
}

// enlist registers a Work for near entries and for Close, unless the store is closed.
func (s *Store) enlist(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.works = append(s.works, w)
		s.ends[w] = struct{}{}
	}
	return !s.closed
}

// retire stops passing near entries to a Work.
func (s *Store) retire(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.works = slices.DeleteFunc(s.works, func(other *worker) bool { return other == w })
}

// discharge notes the end of a Work.
func (s *Store) discharge(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ends, w)
	s.idle.Broadcast()
}

// near passes rows that are due soon to the Works. With no rows, every Work looks for new ones.
func (s *Store) near(rows []backend.Row) {
	if len(rows) == 0 {
		s.wake(nil)
	}
	s.offer(rows)
}

// offer passes rows to one of the Works, in turn, and those that it does not take to the others.
// It returns those that none takes.
func (s *Store) offer(rows []backend.Row) (left []backend.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	for i := 0; i < len(s.works) && len(rows) > 0; i++ {
		rows = s.works[(s.turn+uint(i))%uint(len(s.works))].offer(rows)
	}
	return rows
}

// wake makes every Work but one look for new rows.
func (s *Store) wake(except *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.works {
		if w != except {
			w.sweepSoon()
		}
	}
}

// working reports whether a Work of this store takes near entries.
func (s *Store) working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.works) > 0
}

// inDoubt reports whether a call has failed in the last seconds: the database may store its
// effect later.
func (s *Store) inDoubt() bool { return s.clock.nanos()-s.doubt.Load() < int64(sweepEvery) }

// isNear reports whether a row with this due time must be announced.
func (s *Store) isNear(due int64) bool {
	return due-s.clock.nanos() <= int64(s.limits.Lead+nearSlack)
}

// trouble notes an error of the database after which a worker tries again.
func (s *Store) trouble(message string, err error, args ...any) {
	s.backend.Trouble().Note(s.options.Logger, message, err.Error(), err, args...)
}

// nearSlack covers the time that it takes to store a row: its due time may come within
// the lead meanwhile.
const nearSlack = time.Second
