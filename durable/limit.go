package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Limit bounds the handlers of the entries in a [Scope], in all processes together.
type Limit struct {
	// Running is the number of concurrent handlers, 1 to 1,000,000. 0 is no bound.
	Running int

	// PerSecond is the number of handlers that begin per second, 0.000001 to 1,000,000. 0 is no bound.
	PerSecond float64

	// Burst is the number of handlers that may begin at once after a pause, 1 to 1,000,000. In each
	// time t, at most Burst plus PerSecond times t handlers begin. 0 is the default, a tenth of PerSecond
	// or 1. The last handler of a burst may begin a second later than the others. A Burst of 1
	// lowers the rate by a thirty-second, or by 10 ms per handler: a worker may use a permission that much later, and the
	// bound holds then, too. With a Burst below 1 + PerSecond/100, a busy process loses permissions.
	Burst int
}

// LimitUse is a limit of a store, and its use.
type LimitUse struct {
	Scope
	Limit
	Held  int // permits of workers to run handlers at the same time; workers keep some that they will use soon
	Wants int // handlers that run, or would run without the limit, as far as workers hold their entries
}

// String returns the scope, the limit, and its use.
func (u LimitUse) String() string {
	return fmt.Sprintf("%v: limit %+v, %d held, %d wanted", u.Scope, u.Limit, u.Held, u.Wants)
}

// complete returns the limit of a scope for the backend.
func (l Limit) complete(scope Scope) (backend.Limit, error) {
	expected := ""
	switch {
	case l == Limit{}:
		return backend.Limit{}, invalid("Limit without Running and PerSecond (expected: one or both)")
	case l.Running < 0 || l.Running > backend.MaxRunning:
		expected = fmt.Sprintf("Limit.Running: %d (expected: 0 for no bound, or 1 to %d)", l.Running, backend.MaxRunning)
	case l.PerSecond != 0 && !(l.PerSecond >= backend.MinPerSecond && l.PerSecond <= backend.MaxPerSecond):
		expected = fmt.Sprintf("Limit.PerSecond: %g (expected: 0 for no bound, or %g to %g)", l.PerSecond, backend.MinPerSecond, backend.MaxPerSecond)
	case l.Burst < 0 || l.Burst > backend.MaxBurst || l.Burst > 0 && l.PerSecond == 0:
		expected = fmt.Sprintf("Limit.Burst: %d (expected: 0 for the default, or with PerSecond 1 to %d)", l.Burst, backend.MaxBurst)
	}
	if expected != "" {
		return backend.Limit{}, invalid("%s", expected)
	}
	if l.PerSecond != 0 {
		l.Burst = cmp.Or(l.Burst, int(max(1, math.Ceil(l.PerSecond/10))))
	}
	stored, err := scope.stored()
	return backend.Limit{Scope: stored, Running: l.Running, PerSecond: l.PerSecond, Burst: l.Burst}, err
}

// awareEvery is the pause between two looks for workers that do not know a limit.
const awareEvery = 20 * time.Millisecond

// Limit bounds the handlers of the entries in a scope. It replaces a limit of the same scope. An entry
// that is in several scopes waits for all of their limits. Waiting entries delay no entry outside of the scope,
// unless they fill WorkOptions.MaxHeld.
//
// Limit waits until all workers of the store keep the limit, up to a second, or up to Options.Lease for a worker
// that does not respond. Until then, workers that know a limit of Running begin no handler of the scope; the others
// continue without the limit. A worker that does not respond stops the scope for up to Options.Lease. After Limit has returned, a handler begins only if
// fewer than Running others run, counting those that ran before.
// Handlers that run continue. If ctx ends before, the limit is stored, and the error says so.
//
// An entry that waits for a limit until after its NotAfter becomes a dead letter when its turn comes, and uses no permit.
//
// Workers share a limit: each gets the same number of permits, unless it needs fewer. If a worker dies, its
// permits return at the end of its lease. A worker that is paused beyond its lease may still run a handler.
// The Generation of a Firing fences it.
func (s *Store) Limit(ctx context.Context, scope Scope, l Limit) error {
	limit, err := l.complete(scope)
	if err == nil {
		err = s.backend.SetLimit(ctx, limit)
	}
	if err == nil {
		err = s.awaitAware(ctx)
	}
	return wrapScope("Limit", scope, err)
}

// awaitAware waits until all workers know the limits.
func (s *Store) awaitAware(ctx context.Context) error {
	for {
		all, err := s.backend.Limited(ctx, backend.Version{Newest: -1})
		if err != nil && !errors.Is(err, ErrDamaged) {
			return fmt.Errorf("stored, but whether workers keep it is unknown: %w", err)
		}
		if all.Unaware == 0 {
			return nil
		}
		select {
		case <-time.After(awareEvery):
		case <-ctx.Done():
			return fmt.Errorf("stored, but %d workers do not keep it yet: %w", all.Unaware, context.Cause(ctx))
		}
	}
}

// RemoveLimit removes the limit of exactly this scope. It returns ErrNotFound if there is no such limit.
// Workers learn of the removal within a second.
func (s *Store) RemoveLimit(ctx context.Context, scope Scope) error {
	stored, err := scope.stored()
	if err == nil {
		err = s.backend.RemoveLimit(ctx, stored)
	}
	if errors.Is(err, ErrNotFound) {
		err = noneOf("limit")
	}
	return wrapScope("RemoveLimit", scope, err)
}

// Limits returns the limits, ordered by prefix and group. An error that wraps ErrDamaged names limits that are
// damaged, and comes with the others: no handler of their scopes begins until Limit replaces them.
func (s *Store) Limits(ctx context.Context) (limits []LimitUse, err error) {
	all, err := s.backend.Limited(ctx, backend.Version{Newest: -1})
	for _, use := range all.Limits {
		if use.Running >= 0 {
			limits = append(limits, LimitUse{scopeOf(use.Scope), Limit{use.Running, use.PerSecond, use.Burst}, use.Held, use.Wants})
		}
	}
	if err != nil {
		return limits, fmt.Errorf("durable: Limits: %w", err)
	}
	return limits, nil
}
