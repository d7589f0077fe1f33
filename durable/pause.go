package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Pause is a pause of the entries in a Scope, stored in the database.
type Pause struct {
	Scope
	Reason string    // for operators, up to 1,024 bytes
	By     string    // who paused, up to 1,024 bytes
	Since  time.Time // time of the call of Store.Pause, which fills it in
}

// String returns the scope of the pause, its reason, who paused, and since when.
func (p Pause) String() string {
	return fmt.Sprintf("%v paused by %q since %s: %q", p.Scope, p.By, p.Since.Format(time.RFC3339), p.Reason)
}

// Pause keeps the entries of a scope from firing until Resume, in all processes. It replaces a pause of
// the same scope. After Pause has returned, no worker claims a paused entry: entries that
// a worker has claimed before still fire, once. Paused entries can be set, moved, and cancelled. They are not
// overdue. They become dead letters after their NotAfter, and miss occurrences, only after the
// Resume.
//
// A worker reads the due entries of a paused prefix or group at each look at the database. The pause of the
// store or of a kind costs nothing.
func (s *Store) Pause(ctx context.Context, p Pause) error {
	scope, err := p.stored()
	for name, text := range map[string]string{"Reason": p.Reason, "By": p.By} {
		if err == nil && len(text) > maxPauseText {
			err = invalid("Pause.%s of %d bytes (expected: up to %d)", name, len(text), maxPauseText)
		}
	}
	if err == nil {
		err = s.backend.Pause(ctx, backend.Pause{Scope: scope, Reason: p.Reason, By: p.By, Since: s.now(ctx)})
	}
	return wrapScope("Pause", p.Scope, err)
}

// Resume ends the pause of exactly this scope. It returns ErrNotFound if there is no such pause. An entry that
// is in another paused scope stays paused.
func (s *Store) Resume(ctx context.Context, scope Scope) error {
	stored, err := scope.stored()
	if err == nil {
		err = s.backend.Resume(ctx, stored)
	}
	if errors.Is(err, ErrNotFound) {
		err = noneOf("pause")
	}
	return wrapScope("Resume", scope, err)
}

// Paused returns the pauses, ordered by prefix and group.
func (s *Store) Paused(ctx context.Context) (pauses []Pause, err error) {
	stored, err := s.backend.Paused(ctx)
	if err != nil {
		return nil, fmt.Errorf("durable: Paused: %w", err)
	}
	for _, p := range stored {
		pauses = append(pauses, Pause{scopeOf(p.Scope), p.Reason, p.By, time.Unix(0, p.Since).UTC()})
	}
	return pauses, nil
}
