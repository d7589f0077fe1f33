// Package memdb keeps rows in memory: the model of the other backends, and the store of tests
// that need no database.
package memdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// DB is a backend without a database. It keeps nothing beyond the process. A transaction, and each
// call that writes, waits for the transaction before it.
type DB struct {
	turn    chan struct{} // holds an element while a transaction or a call writes
	ended   chan struct{} // closed by Close
	trouble backend.Trouble
	Logger  *slog.Logger // nil is slog.Default. Set before the first call.

	mu       sync.Mutex
	state                                    // committed. Guarded by mu; replaced by the owner of turn.
	workers  map[int64]int64                 // end of the lease by worker. Guarded by mu.
	ids      int64                           // of workers. Guarded by mu.
	closed   bool                            // Guarded by mu.
	watchers map[*func([]backend.Row)]bool   // Guarded by mu.
	pauses   map[backend.Scope]backend.Pause // Guarded by mu.
	limits   map[backend.Scope]*limit        // Guarded by mu.
	newest   int64                           // version of a limit. Guarded by mu.
	aware    map[int64]int64                 // newest version that a worker knows. Guarded by mu.
}

// state is the contents of a DB, or of one of its transactions. Slices of rows are never changed,
// only replaced: a DB and its transaction share them.
type state struct {
	rows       map[string][]backend.Row // by key, in the order of slots
	dead       map[backend.Ref]backend.Dead
	generation uint64
}

var _ backend.Backend = (*DB)(nil)

// New returns an empty database.
func New() *DB {
	return &DB{
		turn:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		state:    state{rows: make(map[string][]backend.Row), dead: make(map[backend.Ref]backend.Dead)},
		workers:  make(map[int64]int64),
		watchers: make(map[*func([]backend.Row)]bool),
		pauses:   make(map[backend.Scope]backend.Pause),
		limits:   make(map[backend.Scope]*limit),
		aware:    make(map[int64]int64),
	}
}

// Limits implements backend.Backend.
func (m *DB) Limits() backend.Limits {
	return backend.Limits{
		Lead: time.Second, Poll: 250 * time.Millisecond, LeaseBatch: 500,
		MaxBatch: 4096, MaxPayload: 1 << 20,
	}
}

// Now implements backend.Backend.
func (m *DB) Now(context.Context) (time.Time, error) { return time.Now(), nil }

// Trouble implements backend.Backend. Calls wait for transactions only.
func (m *DB) Trouble() *backend.Trouble { return &m.trouble }

// read locks m for a call that reads. After an error, m is not locked.
func (m *DB) read(ctx context.Context) error {
	m.mu.Lock()
	err := ctx.Err()
	if m.closed {
		err = backend.ErrClosed
	}
	if err != nil {
		m.mu.Unlock()
	}
	return err
}

// write waits for the transaction under way, and locks m for a call that writes.
func (m *DB) write(ctx context.Context) error {
	if err := m.await(ctx); err != nil {
		return err
	}
	if err := m.read(ctx); err != nil {
		<-m.turn
		return err
	}
	return nil
}

// await waits for the turn to write.
func (m *DB) await(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	default:
	}
	defer time.AfterFunc(troubleAfter, func() {
		m.trouble.Note(cmp.Or(m.Logger, slog.Default()), "durable: writes wait for a transaction", errOpen.Error(), errOpen)
	}).Stop()
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-m.ended:
		return backend.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), errOpen)
	}
}

// errOpen is the reason for which a call that writes waits.
var errOpen = errors.New("a transaction of Store.Begin is open")

// troubleAfter is the length of a wait from which on it is trouble, as on SQLite.
const troubleAfter = time.Second

// written ends a call that has begun with write.
func (m *DB) written() {
	m.mu.Unlock()
	<-m.turn
}

// Apply implements backend.Backend.
func (m *DB) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	defer m.written()
	return m.apply(ops), nil
}

func (s *state) apply(ops []backend.Op) []backend.Result {
	results := make([]backend.Result, len(ops))
	for i := range ops {
		op := &ops[i]
		ref := backend.Ref{Key: op.Row.Key, Generation: op.If}
		var dead *backend.Dead
		if d, ok := s.dead[ref]; ok {
			dead = &d
		}
		change := op.Decide(s.rows[op.Row.Key], dead, s.generation+1)
		if change.DeleteDead {
			delete(s.dead, ref)
		}
		s.store(op.Row.Key, change)
		results[i] = change.Result
	}
	return results
}

// store stores a change of the rows of a key.
func (s *state) store(key string, change backend.Change) {
	rows := slices.Clone(s.rows[key])
	for _, gone := range append(slices.Clone(change.Delete), change.Put...) {
		rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return r.Slot() == gone.Slot() })
	}
	for _, row := range change.Put {
		rows = append(rows, row)
		s.generation = max(s.generation, row.Generation)
	}
	slices.SortFunc(rows, func(a, b backend.Row) int { return cmp.Compare(a.Slot(), b.Slot()) })
	if s.rows[key] = rows; len(rows) == 0 {
		delete(s.rows, key)
	}
	if change.Bury != nil {
		s.dead[change.Bury.Ref()] = *change.Bury
	}
}

// Get implements backend.Backend.
func (m *DB) Get(ctx context.Context, key string) (backend.Row, error) {
	if err := m.read(ctx); err != nil {
		return backend.Row{}, err
	}
	defer m.mu.Unlock()
	return m.get(key)
}

func (s *state) get(key string) (backend.Row, error) {
	if rows := s.rows[key]; len(rows) > 0 && !rows[0].Detached {
		return rows[0], nil
	}
	return backend.Row{}, backend.ErrNotFound
}

// Rows returns all rows of a key, in any state, in the order of their slots.
func (m *DB) Rows(key string) []backend.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows[key])
}

// all returns the rows that keep accepts, in the order of compare.
func (s *state) all(compare func(a, b backend.Row) int, keep func(*backend.Row) bool) (all []backend.Row) {
	for _, rows := range s.rows {
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

// ByDue compares rows by their due times, keys, and slots, as [backend.Cursor] orders them.
func ByDue(a, b backend.Row) int { return a.Cursor().Compare(b.Cursor()) }

func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// Page implements backend.Backend.
func (m *DB) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return m.page(prefix, after, n, claimed), nil
}

func (s *state) page(prefix string, after backend.Cursor, n int, claimed bool) []backend.Row {
	return bounded(s.all(bySlot, func(r *backend.Row) bool {
		return (claimed || r.State == backend.Pending) && strings.HasPrefix(r.Key, prefix) &&
			(r.Key > after.Key || r.Key == after.Key && r.Slot() > after.Slot)
	}), n, itself)
}

func itself(r *backend.Row) *backend.Row { return r }

// bounded returns the first n elements, or those up to the row at which the payloads reach BatchBytes.
func bounded[T any](all []T, n int, row func(*T) *backend.Row) []T {
	bytes := 0
	for i := range first(all, n) {
		if bytes += len(row(&all[i]).Payload); bytes >= backend.BatchBytes {
			return all[:i+1]
		}
	}
	return first(all, n)
}

// DeadPage implements backend.Backend.
func (m *DB) DeadPage(ctx context.Context, prefix string, after backend.Ref, n int) ([]backend.Dead, error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	compare := func(a, b backend.Ref) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Generation, b.Generation))
	}
	var page []backend.Dead
	for _, ref := range slices.SortedFunc(maps.Keys(m.dead), compare) {
		if strings.HasPrefix(ref.Key, prefix) && compare(ref, after) > 0 {
			page = append(page, m.dead[ref])
		}
	}
	return bounded(page, n, func(d *backend.Dead) *backend.Row { return &d.Row }), nil
}

// Heartbeat implements backend.Backend.
func (m *DB) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error) {
	if err := m.read(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if worker == 0 {
		m.ids++
		worker = m.ids
		m.aware[worker] = m.newest
	} else if !m.alive(worker) {
		return 0, backend.ErrLeaseLost
	}
	m.workers[worker] = time.Now().Add(ttl).UnixNano()
	return worker, nil
}

func (m *DB) alive(worker int64) bool { return m.workers[worker] > time.Now().UnixNano() }

// PrepareKinds implements backend.Backend. Lease looks at all rows.
func (m *DB) PrepareKinds(ctx context.Context) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	m.mu.Unlock()
	return nil
}

// Lease implements backend.Backend. It looks at all rows, or at LookLimit rows for a lane that leaves groups out.
func (m *DB) Lease(ctx context.Context, req backend.LeaseRequest) (lanes []backend.Leased, err error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if !m.alive(req.Worker) {
		return nil, backend.ErrLeaseLost
	}
	for i := range req.Lanes {
		lane := &req.Lanes[i]
		whole := backend.Lane{Kind: lane.Kind}
		most := req.Looks(lane)
		rows := m.all(ByDue, func(r *backend.Row) bool {
			return r.State == backend.Pending && r.Due <= req.Until && whole.Has(r) && r.Cursor().Compare(lane.After) > 0 && !m.paused(r) &&
				(r.Schedule == "" || slices.Contains(req.Schedules, r.Schedule))
		})
		more, end := false, lane.After
		if more = lane.Selects() && len(rows) > most; more {
			rows = rows[:most]
		}
		if len(rows) > 0 {
			end = rows[len(rows)-1].Cursor()
		}
		rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return !lane.Has(&r) })
		lanes = append(lanes, lane.Leased(bounded(rows, lane.Max, itself), end, more))
	}
	return lanes, nil
}

// Free implements backend.Backend. Lease marks no row.
func (m *DB) Free(context.Context, int64) error { return nil }

// Adopt implements backend.Backend.
func (m *DB) Adopt(ctx context.Context, worker int64, kinds []string, n int) ([]backend.Row, error) {
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	defer m.written()
	if !m.alive(worker) {
		return nil, backend.ErrLeaseLost
	}
	rows := first(m.all(ByDue, func(r *backend.Row) bool {
		return r.State == backend.Claimed && !m.alive(r.Holder) && !m.paused(r) &&
			(len(kinds) == 0 || slices.Contains(kinds, backend.KindOf(r.Key)))
	}), n)
	for i := range rows {
		rows[i] = rows[i].AdoptedBy(worker)
		m.store(rows[i].Key, backend.Change{Put: rows[i : i+1]})
	}
	return rows, nil
}

// find returns the row that ref names.
func (s *state) find(ref backend.Ref) *backend.Row {
	for i, r := range s.rows[ref.Key] {
		if r.Generation == ref.Generation {
			return &s.rows[ref.Key][i]
		}
	}
	return nil
}

// Claim implements backend.Backend.
func (m *DB) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	defer m.written()
	if !m.alive(worker) {
		return nil, backend.ErrLeaseLost
	}
	answers := make([]backend.Answer, len(claims))
	for i := range claims {
		c := &claims[i]
		busy := slices.ContainsFunc(m.rows[c.Key], func(r backend.Row) bool { return r.State == backend.Claimed && r.Generation != c.Generation })
		row := m.find(c.Ref)
		if row != nil && !c.Again && m.paused(row) {
			continue
		}
		var change backend.Change
		change, answers[i] = c.Decide(row, busy, worker, m.generation+1)
		m.store(c.Key, change)
	}
	return answers, nil
}

// Finish implements backend.Backend.
func (m *DB) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	defer m.written()
	return m.finish(worker, outcomes), nil
}

func (s *state) finish(worker int64, outcomes []backend.Outcome) []bool {
	applied := make([]bool, len(outcomes))
	for i := range outcomes {
		var change backend.Change
		change, applied[i] = outcomes[i].Decide(s.find(outcomes[i].Ref), worker, time.Now().UnixNano(), s.generation+1)
		s.store(outcomes[i].Key, change)
	}
	for i := range outcomes {
		o := &outcomes[i]
		if rows := s.rows[o.Key]; len(rows) > 0 && o.Notes(&rows[0], applied[i]) {
			main := rows[0]
			main.Last = o.Last
			s.store(o.Key, backend.Change{Put: []backend.Row{main}})
		}
	}
	return applied
}

// Watch implements backend.Backend.
func (m *DB) Watch(near func(rows []backend.Row)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers[&near] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, &near)
	}
}

// Announce implements backend.Backend. There are no other processes.
func (m *DB) Announce() {}

// Overdue implements backend.Backend.
func (m *DB) Overdue(ctx context.Context, before int64) (rows []backend.Row, err error) {
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	isFirst := backend.FirstOfKinds()
	for _, r := range first(m.all(ByDue, func(r *backend.Row) bool { return r.State == backend.Pending && r.Due < before }), backend.LookLimit) {
		if !m.paused(&r) && isFirst(&r) {
			rows = append(rows, backend.Row{Key: r.Key, Due: r.Due, Schedule: r.Schedule})
		}
	}
	return rows, nil
}

// Stats implements backend.Backend.
func (m *DB) Stats(ctx context.Context, due []int64) (st backend.Stats, err error) {
	if err := m.read(ctx); err != nil {
		return st, err
	}
	defer m.mu.Unlock()
	st.Due = make([]int64, len(due))
	all := m.all(ByDue, func(r *backend.Row) bool { return r.State == backend.Pending })
	pending := slices.DeleteFunc(slices.Clone(all), func(r backend.Row) bool { return m.paused(&r) })
	for _, r := range pending {
		for i := range due {
			if r.Due < due[i] && st.Due[i] < backend.CountLimit {
				st.Due[i]++
			}
		}
	}
	if st.Pending = int64(len(all)); len(pending) > 0 {
		st.Oldest = pending[0].Due
	}
	st.Claimed = int64(len(m.all(ByDue, func(r *backend.Row) bool { return r.State == backend.Claimed })))
	st.Dead, st.Pauses = int64(len(m.dead)), int64(len(m.pauses))
	return st, nil
}

// Close implements backend.Backend.
func (m *DB) Close() error {
	if err := m.read(context.Background()); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.closed = true
	close(m.ended)
	return nil
}
