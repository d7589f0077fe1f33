package postgres

import (
	"maps"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// returner finishes work on rows that a caller's open transaction has locked: it
// returns the leases of rows that could not be claimed, and deletes rows that are done.
type returner struct {
	b     *Backend
	wake  chan struct{}
	tasks sync.WaitGroup

	mu   sync.Mutex
	rows map[int64]map[backend.Ref]bool // by worker; worker 0 has those to delete. Guarded by mu.
}

func newReturner(b *Backend) *returner {
	r := &returner{b: b, wake: make(chan struct{}, 1), rows: make(map[int64]map[backend.Ref]bool)}
	r.tasks.Go(r.run)
	return r
}

// add takes over rows.
func (r *returner) add(worker int64, rows map[backend.Ref]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows[worker] == nil {
		r.rows[worker] = make(map[backend.Ref]bool)
	}
	maps.Copy(r.rows[worker], rows)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run tries again and again while there are rows, until the backend is closed.
func (r *returner) run() {
	for {
		select {
		case <-r.wake:
		case <-r.b.ctx.Done():
			return
		}
		for r.step() && r.b.ctx.Err() == nil {
			r.b.pause(r.b.ctx, 100*time.Millisecond)
		}
	}
}

// step tries each row once and reports whether any is left.
func (r *returner) step() (left bool) {
	r.mu.Lock()
	work := make(map[int64]refs)
	for worker, rows := range r.rows {
		var names refs
		for ref := range rows {
			names.add(ref)
		}
		work[worker] = names
	}
	r.mu.Unlock()
	for worker, names := range work {
		still, err := r.try(worker, names)
		if err != nil {
			return true
		}
		left = r.drop(worker, names, still) || left
	}
	return left
}

// try finishes the rows that are unlocked, and returns the others.
func (r *returner) try(worker int64, names refs) (map[backend.Ref]bool, error) {
	if worker == 0 {
		if _, err := r.b.deleteDone(r.b.ctx, names); err != nil {
			return nil, err
		}
		return r.b.find(r.b.ctx, r.b.sql.existing, names.key, names.generation)
	}
	if err := r.b.simple(r.b.ctx, execute(r.b.sql.unlease, worker, names.key, names.generation)); err != nil {
		return nil, err
	}
	r.b.watchers.look()
	return r.b.find(r.b.ctx, r.b.sql.held, worker, names.key, names.generation)
}

// drop forgets the names that are not in still, and reports whether any row is left.
func (r *returner) drop(worker int64, names refs, still map[backend.Ref]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := r.rows[worker]
	for i := range names.key {
		ref := names.at(i)
		if !still[ref] {
			delete(rows, ref)
		}
	}
	if len(rows) == 0 {
		delete(r.rows, worker)
	}
	return len(rows) > 0
}
