package durable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// fullPercent is from how much of the store's space on it takes no new timers.
// The rest is for cancels, moves, claims and acknowledgements, which need space
// before they free it.
const fullPercent = 80

// guard refuses new timers while the store is nearly full.
type guard struct {
	limit int64 // the store's own, 0 for none. Immutable after Open.
	used  atomic.Int64
	most  atomic.Int64 // what used is measured against; 0 if there is no limit
	audit atomic.Bool  // the server refused something: look for what is overdue
}

// admit returns ErrFull if no timer may be added.
func (g *guard) admit() error {
	used, most := g.used.Load(), g.most.Load()
	if most > 0 && used/fullPercent >= most/100 {
		return fmt.Errorf("%w: %d of %d bytes", ErrFull, used, most)
	}
	return nil
}

// noted returns err, as ErrFull if the server had no space. The server may then
// also have failed to hand out timers, which it does not try again by itself.
func (g *guard) noted(err error) error {
	if !errors.Is(err, errNoSpace) {
		return err
	}
	g.audit.Store(true)
	return fmt.Errorf("%w: %w", ErrFull, err)
}

// measure reads how much space is used: of the store's limit, and of the
// account's and the server's.
func (s *Store) measure(ctx context.Context, used int64) error {
	most := s.guard.limit
	info, err := s.js.AccountInfo(ctx)
	if err != nil {
		return err
	}
	if limit := info.Limits.MaxStore; limit > 0 && (most == 0 || limit-int64(info.Store) < most-used) {
		used, most = int64(info.Store), limit
	}
	was := s.guard.admit()
	s.guard.used.Store(used)
	s.guard.most.Store(most)
	if was != nil && s.guard.admit() == nil {
		s.guard.audit.Store(true)
	}
	return nil
}
