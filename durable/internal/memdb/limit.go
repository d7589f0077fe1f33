package memdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// limit is a stored limit.
type limit struct {
	backend.Limit
	version int64
	busy    int64 // next free time of its tokens
	permits map[int64]backend.Permit
}

// SetLimit implements backend.Backend.
func (m *DB) SetLimit(ctx context.Context, l backend.Limit) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	old := m.limits[l.Scope]
	if old == nil {
		old = &limit{permits: make(map[int64]backend.Permit)}
		m.limits[l.Scope] = old
	}
	m.newest++
	old.busy = old.Lowered(l, old.busy, time.Now().UnixNano())
	old.Limit, old.version = l, m.newest
	m.mu.Unlock()
	m.look()
	return nil
}

// RemoveLimit implements backend.Backend.
func (m *DB) RemoveLimit(ctx context.Context, scope backend.Scope) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	found := m.limits[scope] != nil
	delete(m.limits, scope)
	m.mu.Unlock()
	if !found {
		return backend.ErrNotFound
	}
	m.look()
	return nil
}

// look makes workers look at the database.
func (m *DB) look() {
	m.mu.Lock()
	watchers := maps.Clone(m.watchers)
	m.mu.Unlock()
	for near := range watchers {
		(*near)(nil)
	}
}

// Limited implements backend.Backend.
func (m *DB) Limited(ctx context.Context, known backend.Version) (all backend.Limited, err error) {
	if err := m.read(ctx); err != nil {
		return all, err
	}
	defer m.mu.Unlock()
	for _, l := range m.limits {
		all.Version.Newest = max(all.Version.Newest, l.version)
		all.Version.Count++
	}
	if all.Version == known {
		return all, nil
	}
	for worker := range m.workers {
		if m.alive(worker) && m.aware[worker] < all.Version.Newest {
			all.Unaware++
		}
	}
	for _, l := range m.limits {
		use := backend.LimitUse{Limit: l.Limit}
		for worker, p := range l.permits {
			if m.alive(worker) {
				use.Held, use.Wants = use.Held+p.Held, use.Wants+p.Wants
			}
		}
		all.Limits = append(all.Limits, use)
	}
	slices.SortFunc(all.Limits, func(a, b backend.LimitUse) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Group, b.Group))
	})
	return all, nil
}

// others returns the permits of live workers other than worker. The caller holds mu.
func (m *DB) others(l *limit, worker int64) (others []backend.Permit) {
	for other := range m.workers {
		if other != worker && m.alive(other) {
			p := l.permits[other]
			others = append(others, backend.Permit{Worker: other, Held: p.Held, Wants: p.Wants}.Of(m.aware[other] < l.version))
		}
	}
	return others
}

// Share implements backend.Backend.
func (m *DB) Share(ctx context.Context, worker, newest int64, demands []backend.Demand) ([]backend.Grant, error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if !m.alive(worker) {
		return nil, backend.ErrLeaseLost
	}
	m.aware[worker] = newest
	grants := make([]backend.Grant, len(demands))
	for i := range demands {
		d := &demands[i]
		l := m.limits[d.Scope]
		if l == nil {
			grants[i].Scope = d.Scope
			continue
		}
		l.permits[worker], l.busy, grants[i] = d.Decide(&l.Limit, worker, m.others(l, worker), l.busy, time.Now().UnixNano())
	}
	return grants, nil
}
