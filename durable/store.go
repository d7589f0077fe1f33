package durable

import (
	"context"
	"fmt"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Store keeps entries in a database. Its Entries run each operation in its own transaction. All
// methods are safe for concurrent use.
type Store struct {
	Entries
	*env
	works   *works
	sizes   *sizes
	unwatch func()

	released   chan struct{} // closed once the database is released
	releaseErr error         // Written before released is closed.
}

// New returns a store on a backend. The store owns the backend. It waits for the database's
// clock until ctx ends. It is for authors of backends: programs call Open of durable/sqlite or
// durable/postgres.
func New(ctx context.Context, b backend.Backend, options *Options) (*Store, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	s := &Store{env: &env{backend: b, limits: b.Limits(), options: o}, sizes: newSizes(), released: make(chan struct{})}
	s.Entries.store = s
	s.works = newWorks()
	s.clock.now = b.Now
	if err := s.clock.measure(ctx); err != nil {
		return nil, fmt.Errorf("durable: Open: %w", err)
	}
	if o.Paused != "" {
		if err := b.Pause(ctx, backend.Pause{Reason: o.Paused, By: "Options.Paused", Since: s.now(ctx)}); err != nil {
			return nil, fmt.Errorf("durable: Open: Options.Paused: %w", err)
		}
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
	first, inHandler := s.works.close()
	if first {
		go s.release()
	}
	if inHandler {
		return nil
	}
	<-s.released
	return s.releaseErr
}

// release releases the database after the last Work.
func (s *Store) release() {
	s.works.wait()
	s.unwatch()
	s.releaseErr = s.backend.Close()
	close(s.released)
}

// near passes rows that are due soon to the Works. With no rows, every Work looks for new ones.
func (s *Store) near(rows []backend.Row) {
	if len(rows) == 0 {
		s.works.wake(nil)
	}
	s.works.offer(rows)
}
