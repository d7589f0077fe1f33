package durable

import (
	"context"
	"errors"
	"fmt"
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := newWorker(ctx, s.env, s.works, handler, o, cancel)
	if err != nil {
		return fmt.Errorf("durable: Work: %w", err)
	}
	if !s.works.add(w) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	defer s.works.remove(w)
	discarded := make(chan struct{})
	go func() {
		defer close(discarded)
		s.discardOld(ctx)
	}()
	w.run(ctx)
	<-discarded
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	return nil
}
