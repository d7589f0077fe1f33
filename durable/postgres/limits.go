package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashedwheel/hwt/durable/backend"
)

// limits bound the handlers of scopes.
type limits struct{ *leases }

// SetLimit implements [backend.Backend]. The statement changes busy as backend.Limit.Lowered.
func (l limits) SetLimit(ctx context.Context, limit backend.Limit) error {
	err := l.change(ctx, nil, query(nil, lockVersionSQL, l.options.Schema), execute(setLimitSQL, []byte(limit.Prefix), []byte(limit.Group),
		int64(limit.Running), limit.PerSecond, int64(limit.Burst)))
	if err == nil {
		l.announcer.freed()
	}
	return err
}

// RemoveLimit implements [backend.Backend].
func (l limits) RemoveLimit(ctx context.Context, scope backend.Scope) error {
	var versions []int64
	prefix, group := []byte(scope.Prefix), []byte(scope.Group)
	err := l.change(ctx, &versions, query(each(&versions), removeLimitSQL, prefix, group), execute(removePermitsSQL, prefix, group))
	if err == nil {
		l.announcer.freed()
	}
	return err
}

// Limited implements [backend.Backend].
func (l limits) Limited(ctx context.Context, known backend.Version) (all backend.Limited, err error) {
	var damaged error
	err = l.insist(ctx, func(ctx context.Context) error {
		all, damaged = backend.Limited{}, nil
		version := query(into(&all.Version.Newest, &all.Version.Count), versionSQL)
		if err := l.simple(ctx, version); err != nil || all.Version == known {
			return err
		}
		return l.inTx(ctx, l.settings(batchWait, true), func(t *txn) error {
			all.Limits, damaged = nil, nil
			return t.run(ctx, version, query(into(&all.Unaware), unawareSQL, all.Version.Newest), query(func(scan scanner) error {
				var use backend.LimitUse
				damage := scanLimit(scan, &use.Limit, &use.Held, &use.Wants)
				if damaged = errors.Join(damaged, damage); errors.Is(damage, backend.ErrDamaged) {
					damage = nil
				}
				all.Limits = append(all.Limits, use)
				return damage
			}, limitsSQL))
		})
	})
	if errors.Is(err, backend.ErrDamaged) { // rather than single limits
		err = fmt.Errorf("the limits cannot be read: %v", err)
	}
	if err != nil {
		return backend.Limited{}, err
	}
	return all, damaged
}

// scanLimit reads a limit and further columns. A damaged limit lets no handler begin.
func scanLimit(scan scanner, l *backend.Limit, more ...any) error {
	var prefix, group octets
	err := scan(append([]any{&prefix, &group, &l.Running, &l.PerSecond, &l.Burst}, more...)...)
	if err != nil {
		return err
	}
	l.Scope = backend.Scope{Prefix: string(prefix), Group: string(group)}
	*l, err = backend.StoredLimit(*l)
	return err
}

// Share implements [backend.Backend].
func (l limits) Share(ctx context.Context, worker, newest int64, demands []backend.Demand) (grants []backend.Grant, err error) {
	s := shares{worker: worker, demands: demands}
	for i := range demands {
		s.prefix, s.group = append(s.prefix, []byte(demands[i].Prefix)), append(s.group, []byte(demands[i].Group))
	}
	err = l.asWorker(ctx, worker, false, func(ctx context.Context, t *txn) error {
		grants, err = s.run(ctx, t, newest)
		return err
	})
	if err != nil {
		return nil, err
	}
	return grants, nil
}

// shares is one call of Share.
type shares struct {
	worker        int64
	demands       []backend.Demand
	prefix, group [][]byte // of demands
	limits        map[backend.Scope]storedLimit
	others        map[backend.Scope][]backend.Permit
}

type storedLimit struct {
	backend.Limit
	busy, now int64
}

// run decides about the demands.
func (s *shares) run(ctx context.Context, t *txn, newest int64) ([]backend.Grant, error) {
	s.limits, s.others = make(map[backend.Scope]storedLimit), make(map[backend.Scope][]backend.Permit)
	err := t.run(ctx, query(s.scanLimit, lockLimitsSQL, s.prefix, s.group), execute(endPermitsSQL, s.prefix, s.group), query(s.scanPermit, permitsSQL, s.prefix, s.group, s.worker))
	if err != nil {
		return nil, err
	}
	grants := make([]backend.Grant, len(s.demands))
	prefix, group, held, wants, free := [][]byte{}, [][]byte{}, []int64{}, []int64{}, []int64{}
	for i := range s.demands {
		d := &s.demands[i]
		grants[i].Scope = d.Scope
		limit, found := s.limits[d.Scope]
		if !found {
			continue
		}
		var mine backend.Permit
		mine, limit.busy, grants[i] = d.Decide(&limit.Limit, s.worker, s.others[d.Scope], limit.busy, limit.now)
		prefix, group = append(prefix, s.prefix[i]), append(group, s.group[i])
		held, wants, free = append(held, int64(mine.Held)), append(wants, int64(mine.Wants)), append(free, limit.busy)
	}
	return grants, t.write(ctx, execute(awareSQL, s.worker, newest), execute(putPermitsSQL, prefix, group, s.worker, held, wants),
		execute(putBusySQL, prefix, group, free))
}

func (s *shares) scanLimit(scan scanner) error {
	var l storedLimit
	err := scanLimit(scan, &l.Limit, &l.busy, &l.now)
	if errors.Is(err, backend.ErrDamaged) {
		err = nil // Limited reports it
	}
	s.limits[l.Scope] = l
	return err
}

func (s *shares) scanPermit(scan scanner) error {
	var prefix, group octets
	var p backend.Permit
	var unaware *bool // nil of a worker of an older release
	err := scan(&prefix, &group, &p.Worker, &p.Held, &p.Wants, &unaware)
	scope := backend.Scope{Prefix: string(prefix), Group: string(group)}
	s.others[scope] = append(s.others[scope], p.Of(unaware != nil && *unaware))
	return err
}
