package backendtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Memory is a backend without a database: the model of the others, and the backend of
// tests that need none. It keeps nothing beyond the process and ignores transactions.
type Memory struct {
	mu         sync.Mutex
	rows       map[string][]backend.Row // by key, in the order of slots
	dead       map[backend.Ref]backend.Dead
	workers    map[int64]int64 // end of the lease by worker
	generation uint64
	ids        int64
	closed     bool
}

var _ backend.Backend = (*Memory)(nil)

// NewMemory returns an empty backend.
func NewMemory() *Memory {
	return &Memory{
		rows:    make(map[string][]backend.Row),
		dead:    make(map[backend.Ref]backend.Dead),
		workers: make(map[int64]int64),
	}
}

// Limits implements backend.Backend.
func (m *Memory) Limits() backend.Limits {
	return backend.Limits{
		Lead: time.Second, Poll: 250 * time.Millisecond, LeaseBatch: 500,
		MaxBatch: 4096, MaxPayload: 1 << 20, Tx: "any value",
	}
}

// Now implements backend.Backend.
func (m *Memory) Now(context.Context) (time.Time, error) { return time.Now(), nil }

// enter locks m and returns the error for a call that must not go on.
func (m *Memory) enter(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		return backend.ErrClosed
	}
	return ctx.Err()
}

// enterAs is enter for a worker whose lease must last.
func (m *Memory) enterAs(ctx context.Context, worker int64) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	if !m.alive(worker) {
		return backend.ErrLeaseLost
	}
	return nil
}

// Apply implements backend.Backend.
func (m *Memory) Apply(ctx context.Context, _ any, ops []backend.Op) ([]backend.Result, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	results := make([]backend.Result, len(ops))
	for i := range ops {
		op := &ops[i]
		ref := backend.Ref{Key: op.Row.Key, Generation: op.If}
		var dead *backend.Dead
		if d, ok := m.dead[ref]; ok {
			dead = &d
		}
		change := op.Decide(m.rows[op.Row.Key], dead, m.generation+1)
		if change.DeleteDead {
			delete(m.dead, ref)
		}
		m.write(op.Row.Key, change)
		results[i] = change.Result
	}
	return results, nil
}

// write stores a change of the rows of a key.
func (m *Memory) write(key string, change backend.Change) {
	rows := m.rows[key]
	for _, gone := range append(slices.Clone(change.Delete), change.Put...) {
		rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return r.Slot() == gone.Slot() })
	}
	for _, row := range change.Put {
		rows = append(rows, row)
		m.generation = max(m.generation, row.Generation)
	}
	slices.SortFunc(rows, func(a, b backend.Row) int { return cmp.Compare(a.Slot(), b.Slot()) })
	if m.rows[key] = rows; len(rows) == 0 {
		delete(m.rows, key)
	}
	if change.Bury != nil {
		m.dead[change.Bury.Ref()] = *change.Bury
	}
}

// Get implements backend.Backend.
func (m *Memory) Get(ctx context.Context, key string) (backend.Row, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return backend.Row{}, err
	}
	if rows := m.rows[key]; len(rows) > 0 && !rows[0].Detached {
		return rows[0], nil
	}
	return backend.Row{}, backend.ErrNotFound
}

// Rows returns all rows of a key, in any state, in the order of their slots.
func (m *Memory) Rows(key string) []backend.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows[key])
}

// all returns the rows that keep accepts, in the order of compare.
func (m *Memory) all(compare func(a, b backend.Row) int, keep func(*backend.Row) bool) (all []backend.Row) {
	for _, rows := range m.rows {
		for _, r := range rows {
			if keep(&r) {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, compare)
	return all
}

func bySlot(a, b backend.Row) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Slot(), b.Slot()))
}

func byDue(a, b backend.Row) int {
	return cmp.Or(cmp.Compare(a.Due, b.Due), bySlot(a, b))
}

func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// Page implements backend.Backend.
func (m *Memory) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	return first(m.all(bySlot, func(r *backend.Row) bool {
		return (claimed || r.State == backend.Pending) && strings.HasPrefix(r.Key, prefix) &&
			(r.Key > after.Key || r.Key == after.Key && r.Slot() > after.Slot)
	}), n), nil
}

// DeadPage implements backend.Backend.
func (m *Memory) DeadPage(ctx context.Context, prefix string, after backend.Ref, n int) ([]backend.Dead, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	compare := func(a, b backend.Ref) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Generation, b.Generation))
	}
	var page []backend.Dead
	for _, ref := range slices.SortedFunc(maps.Keys(m.dead), compare) {
		if strings.HasPrefix(ref.Key, prefix) && compare(ref, after) > 0 {
			page = append(page, m.dead[ref])
		}
	}
	return first(page, n), nil
}

// Heartbeat implements backend.Backend.
func (m *Memory) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return 0, err
	}
	if worker == 0 {
		m.ids++
		worker = m.ids
	} else if !m.alive(worker) {
		return 0, backend.ErrLeaseLost
	}
	m.workers[worker] = time.Now().Add(ttl).UnixNano()
	return worker, nil
}

func (m *Memory) alive(worker int64) bool { return m.workers[worker] > time.Now().UnixNano() }

// Lease implements backend.Backend.
func (m *Memory) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Row, error) {
	defer m.mu.Unlock()
	if err := m.enterAs(ctx, req.Worker); err != nil {
		return nil, err
	}
	after := func(r *backend.Row) bool {
		return cmp.Or(cmp.Compare(r.Due, req.After.Due), cmp.Compare(r.Key, req.After.Key), cmp.Compare(r.Slot(), req.After.Slot)) > 0
	}
	return first(m.all(byDue, func(r *backend.Row) bool {
		return r.State == backend.Pending && r.Due <= req.Until && after(r) &&
			(r.Schedule == "" || slices.Contains(req.Schedules, r.Schedule))
	}), req.Max), nil
}

// Free implements backend.Backend. Lease marks no row.
func (m *Memory) Free(context.Context, int64) error { return nil }

// Adopt implements backend.Backend.
func (m *Memory) Adopt(ctx context.Context, worker int64, n int) ([]backend.Row, error) {
	defer m.mu.Unlock()
	if err := m.enterAs(ctx, worker); err != nil {
		return nil, err
	}
	rows := first(m.all(byDue, func(r *backend.Row) bool {
		return r.State == backend.Claimed && !m.alive(r.Holder)
	}), n)
	for i := range rows {
		rows[i].Holder = worker
		m.write(rows[i].Key, backend.Change{Put: rows[i : i+1]})
	}
	return rows, nil
}

// find returns the row that ref names.
func (m *Memory) find(ref backend.Ref) *backend.Row {
	for i, r := range m.rows[ref.Key] {
		if r.Generation == ref.Generation {
			return &m.rows[ref.Key][i]
		}
	}
	return nil
}

// Claim implements backend.Backend.
func (m *Memory) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	defer m.mu.Unlock()
	if err := m.enterAs(ctx, worker); err != nil {
		return nil, err
	}
	won := make([]bool, len(claims))
	for i := range claims {
		var change backend.Change
		change, won[i] = claims[i].Decide(m.find(claims[i].Ref), worker, m.generation+1)
		m.write(claims[i].Key, change)
	}
	return won, nil
}

// Finish implements backend.Backend.
func (m *Memory) Finish(ctx context.Context, _ any, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	applied := make([]bool, len(outcomes))
	for i := range outcomes {
		var change backend.Change
		change, applied[i] = outcomes[i].Decide(m.find(outcomes[i].Ref), worker, time.Now().UnixNano(), m.generation+1)
		m.write(outcomes[i].Key, change)
	}
	return applied, nil
}

// Watch implements backend.Backend. A look finds the rows of transactions.
func (m *Memory) Watch(func(rows []backend.Row)) (stop func()) { return func() {} }

// Announce implements backend.Backend. There are no other processes.
func (m *Memory) Announce() {}

// Stats implements backend.Backend.
func (m *Memory) Stats(ctx context.Context, due []int64) (st backend.Stats, err error) {
	defer m.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return st, err
	}
	st.Due = make([]int64, len(due))
	pending := m.all(byDue, func(r *backend.Row) bool { return r.State == backend.Pending })
	for _, r := range pending {
		for i := range due {
			if r.Due < due[i] && st.Due[i] < backend.CountLimit {
				st.Due[i]++
			}
		}
	}
	if st.Pending = int64(len(pending)); len(pending) > 0 {
		st.Oldest = pending[0].Due
	}
	st.Claimed = int64(len(m.all(byDue, func(r *backend.Row) bool { return r.State == backend.Claimed })))
	st.Dead = int64(len(m.dead))
	return st, nil
}

// Close implements backend.Backend.
func (m *Memory) Close() error {
	defer m.mu.Unlock()
	err := m.enter(context.Background())
	m.closed = true
	return err
}
