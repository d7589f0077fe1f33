package memdb

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// paused reports whether a row is paused. The caller holds mu.
func (m *DB) paused(r *backend.Row) bool {
	for scope := range m.pauses {
		if scope.Has(r) {
			return true
		}
	}
	return false
}

// Pause implements backend.Backend.
func (m *DB) Pause(ctx context.Context, p backend.Pause) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.pauses[p.Scope] = p
	return nil
}

// Resume implements backend.Backend.
func (m *DB) Resume(ctx context.Context, scope backend.Scope) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	_, found := m.pauses[scope]
	delete(m.pauses, scope)
	m.mu.Unlock()
	if !found {
		return backend.ErrNotFound
	}
	m.look()
	return nil
}

// Paused implements backend.Backend.
func (m *DB) Paused(ctx context.Context) ([]backend.Pause, error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.pauses), func(a, b backend.Pause) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Group, b.Group))
	}), nil
}
