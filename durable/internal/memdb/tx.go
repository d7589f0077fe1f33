package memdb

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Tx is a transaction. Other calls that write wait for its end. Others read the state before it.
type Tx struct {
	db      *DB
	release func() bool // ends the watch of the context

	mu      sync.Mutex
	state         // Guarded by mu.
	changed bool  // it has stored rows, which Commit announces. Guarded by mu.
	err     error // of every further call. Guarded by mu.
}

var _ backend.Tx = (*Tx)(nil)

// ErrTxDone is returned by the methods of a Tx after Commit and Rollback. After the end of the
// context of the Tx, the methods return the error of the context.
var ErrTxDone = errors.New("memory: the transaction has ended")

// Begin begins a transaction. It is rolled back when ctx ends.
func (m *DB) Begin(ctx context.Context) (*Tx, error) {
	if err := m.write(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	x := &Tx{db: m, state: state{rows: maps.Clone(m.rows), dead: maps.Clone(m.dead), generation: m.generation}}
	x.release = context.AfterFunc(ctx, func() { x.end(context.Cause(ctx)) })
	return x, nil
}

// DB returns the database of x.
func (x *Tx) DB() *DB { return x.db }

// end ends the transaction, and returns the error of an earlier end.
func (x *Tx) end(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return x.err
	}
	x.err = err
	<-x.db.turn
	return nil
}

// Commit stores the effects of the transaction, and announces its rows.
func (x *Tx) Commit() error {
	x.release()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return x.err
	}
	x.err = ErrTxDone
	defer func() { <-x.db.turn }()
	if err := x.db.read(context.Background()); err != nil {
		return err
	}
	x.db.state = x.state
	watchers := maps.Clone(x.db.watchers)
	x.db.mu.Unlock()
	for near := range watchers {
		if x.changed {
			(*near)(nil) // any row may be near by now
		}
	}
	return nil
}

// Rollback discards the effects of the transaction.
func (x *Tx) Rollback() error {
	x.release()
	return x.end(ErrTxDone)
}

// use locks x for a call.
func (x *Tx) use(ctx context.Context) error {
	x.mu.Lock()
	err := x.err
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		x.mu.Unlock()
	}
	return err
}

// Apply implements backend.Tx.
func (x *Tx) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if err := x.use(ctx); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	results := x.apply(ops)
	for i, r := range results {
		x.changed = x.changed || r.Err == nil && ops[i].Kind.Stores()
	}
	return results, nil
}

// Finish implements backend.Tx.
func (x *Tx) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	if err := x.use(ctx); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	return x.finish(worker, outcomes), nil
}

// Get implements backend.Tx.
func (x *Tx) Get(ctx context.Context, key string) (backend.Row, error) {
	if err := x.use(ctx); err != nil {
		return backend.Row{}, err
	}
	defer x.mu.Unlock()
	return x.get(key)
}

// Page implements backend.Tx.
func (x *Tx) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	if err := x.use(ctx); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	return x.page(prefix, after, n, claimed), nil
}
