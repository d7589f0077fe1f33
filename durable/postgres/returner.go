package postgres

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// returner finishes work on rows that a caller's open transaction has locked: it
// returns the leases of rows that could not be claimed, deletes rows that are done, and
// stores other outcomes.
type returner struct {
	b     *Backend
	wake  chan struct{}
	tasks sync.WaitGroup

	mu       sync.Mutex
	rows     map[int64]map[backend.Ref]bool // to give back, by worker; worker 0 has those to delete. Guarded by mu.
	outcomes map[backend.Ref]outcome        // Guarded by mu.
}

type outcome struct {
	backend.Outcome
	worker int64
}

func newReturner(b *Backend) *returner {
	r := &returner{b: b, wake: make(chan struct{}, 1), rows: make(map[int64]map[backend.Ref]bool), outcomes: make(map[backend.Ref]outcome)}
	r.tasks.Go(r.run)
	return r
}

// giveBack takes over rows that worker has leased.
func (r *returner) giveBack(worker int64, rows map[backend.Ref]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows[worker] == nil {
		r.rows[worker] = make(map[backend.Ref]bool)
	}
	maps.Copy(r.rows[worker], rows)
	r.hurry()
}

// delete takes over rows that are done.
func (r *returner) delete(rows map[backend.Ref]bool) { r.giveBack(0, rows) }

// finish takes over an outcome.
func (r *returner) finish(worker int64, o *backend.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[o.Ref] = outcome{*o, worker}
	r.hurry()
}

func (r *returner) hurry() {
	select {
	case r.wake <- struct{}{}:
	default: // already requested
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
		for left := true; left && r.b.ctx.Err() == nil; {
			r.b.pause(r.b.ctx, 100*time.Millisecond) // a row whose claim fails is leased again at once
			rows := r.tryRows()
			left = r.tryOutcomes() || rows
		}
	}
}

// tryOutcomes tries each outcome once and reports whether any is left.
func (r *returner) tryOutcomes() (left bool) {
	r.mu.Lock()
	work := slices.Collect(maps.Values(r.outcomes))
	r.mu.Unlock()
	for _, o := range work {
		_, found, err := r.b.tryFinish(r.b.ctx, o.worker, &o.Outcome)
		if err == nil && !found {
			var still map[backend.Ref]bool
			still, err = r.b.find(r.b.ctx, r.b.sql.existing, [][]byte{[]byte(o.Key)}, []int64{int64(o.Generation)})
			found = len(still) == 0
		}
		if err != nil || !found {
			left = true
			continue
		}
		r.mu.Lock()
		delete(r.outcomes, o.Ref)
		r.mu.Unlock()
	}
	return left
}

// tryRows tries each row once and reports whether any is left.
func (r *returner) tryRows() (left bool) {
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
