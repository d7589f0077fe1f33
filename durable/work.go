package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Work calls handler for each entry at its due time until ctx ends, the store is closed, or
// the database closes itself, as SQLite does after a disk error. It then fires the entries
// that it has claimed, releases the others, waits for running handlers, and returns nil or
// ErrClosed. Any number of calls of Work may run, in one process or in several; each entry
// fires in one of them. Other database errors are logged and retried; they do not end
// Work.
func (s *Store) Work(ctx context.Context, handler Handler, options *WorkOptions) error {
	if handler == nil {
		return fmt.Errorf("durable: Work: %w", invalid("handler nil (expected: a function)"))
	}
	o, err := options.complete()
	if err != nil {
		return err
	}
	return s.work(ctx, "Work", []*kind{{options: o, counts: s.counts.kinds.of("")}}, []Handler{handler})
}

// WorkMux is Work for the kinds of a Mux. Each kind has its own WorkOptions. The longest DrainTimeout
// counts for all of them.
//
// On PostgreSQL, in a SQLite store with 100,000 entries, and for more than 1,000 kinds, the first WorkMux without the pattern
// "/" creates an index of the kinds in the database. This takes time in a large store. WorkMux returns its error. A smaller
// SQLite store gets the index later, if at all: when it has 100,000 entries, or when a backlog, or entries that are due and
// have no handler or no room in memory, would keep others waiting. Errors are then logged, and WorkMux tries again.
func (s *Store) WorkMux(ctx context.Context, m *Mux) error {
	ks, err := m.complete(&s.counts.kinds)
	if err == nil && !slices.Contains(m.patterns, "/") {
		err = s.prepareKinds(ctx, len(ks))
	}
	if err != nil {
		return fmt.Errorf("durable: WorkMux: %w", err)
	}
	return s.work(ctx, "WorkMux", ks, m.handlers)
}

// prepareKinds prepares a store for looks at a number of kinds, unless one look at all kinds may suffice.
func (s *Store) prepareKinds(ctx context.Context, kinds int) error {
	if small := int64(s.together(kinds)); small > 0 {
		st, err := s.backend.Stats(ctx, nil)
		if err != nil || st.Pending+st.Claimed < small {
			return err
		}
	}
	return s.backend.PrepareKinds(ctx)
}

// work works on kinds.
func (s *Store) work(ctx context.Context, name string, ks []*kind, handlers []Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := newWorker(ctx, s.env, s.works, ks, handlers, cancel)
	if err != nil {
		return fmt.Errorf("durable: %s: %w", name, err)
	}
	if !s.works.add(w) {
		return fmt.Errorf("durable: %s: %w", name, ErrClosed)
	}
	defer s.works.remove(w)
	var loops sync.WaitGroup
	loops.Go(func() { s.discardOld(ctx) })
	loops.Go(func() { s.reportStrays(ctx) })
	w.run(ctx)
	loops.Wait()
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return fmt.Errorf("durable: %s: %w", name, ErrClosed)
	}
	return nil
}
