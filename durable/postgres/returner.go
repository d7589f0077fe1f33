package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// returner finishes work on rows that a caller's open transaction has locked: it
// returns the leases of rows that could not be claimed, and stores outcomes.
type returner struct {
	b     *Backend
	wake  chan struct{}
	tasks sync.WaitGroup

	mu       sync.Mutex
	rows     map[int64]map[backend.Ref]bool            // to give back, by worker. Guarded by mu.
	outcomes map[int64]map[backend.Ref]backend.Outcome // by worker. Guarded by mu.
}

func newReturner(b *Backend) *returner {
	r := &returner{
		b:        b,
		wake:     make(chan struct{}, 1),
		rows:     make(map[int64]map[backend.Ref]bool),
		outcomes: make(map[int64]map[backend.Ref]backend.Outcome),
	}
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

// finish takes over an outcome.
func (r *returner) finish(worker int64, o backend.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcomes[worker] == nil {
		r.outcomes[worker] = make(map[backend.Ref]backend.Outcome)
	}
	r.outcomes[worker][o.Ref] = o
	r.hurry()
}

// await waits for the outcomes of worker, for half of the time that ctx leaves. After the end of
// the lease, other workers may take the rows over first, and fire them again.
func (r *returner) await(ctx context.Context, worker int64) {
	wait := r.b.options.Timeout
	if end, ok := ctx.Deadline(); ok {
		wait = time.Until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for r.has(worker) && ctx.Err() == nil && r.b.ctx.Err() == nil {
		r.b.sleep(ctx, 10*time.Millisecond)
	}
}

// has reports whether an outcome of worker waits.
func (r *returner) has(worker int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.outcomes[worker]) > 0
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
			r.b.sleep(r.b.ctx, 50*time.Millisecond) // a row whose claim fails is leased again immediately
			rows := r.tryRows()
			left = r.tryOutcomes() || rows
		}
	}
}

// tryOutcomes tries each outcome once and reports whether any is left.
func (r *returner) tryOutcomes() (left bool) {
	r.mu.Lock()
	work := make(map[int64][]backend.Outcome)
	for worker, outcomes := range r.outcomes {
		work[worker] = slices.Collect(maps.Values(outcomes))
	}
	r.mu.Unlock()
	for worker, outcomes := range work {
		_, locked, err := r.b.finish(r.b.ctx, worker, outcomes)
		if err != nil {
			left = true
			continue
		}
		left = left || len(locked) > 0
		r.forget(worker, outcomes, locked)
		if slices.ContainsFunc(outcomes, func(o backend.Outcome) bool { return o.Fate != backend.Done && !locked[o.Ref] }) {
			r.b.watchers.look() // a retry may be due
			r.b.announcer.announce()
		}
	}
	return left
}

// forget drops outcomes except those of rows that are still locked.
func (r *returner) forget(worker int64, outcomes []backend.Outcome, locked map[backend.Ref]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.outcomes[worker]
	for _, o := range outcomes {
		if !locked[o.Ref] && left[o.Ref] == o { // not another one that came meanwhile
			delete(left, o.Ref)
		}
	}
	if len(left) == 0 {
		delete(r.outcomes, worker)
	}
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
		still, err := r.unlease(worker, names)
		if err != nil {
			left = true
			continue
		}
		left = r.drop(worker, names, still) || left
	}
	return left
}

// unlease returns the leases of unlocked rows, and the names of the locked ones.
func (r *returner) unlease(worker int64, names refs) (map[backend.Ref]bool, error) {
	if err := r.b.simple(r.b.ctx, execute(r.b.sql.unlease, worker, names.key, names.generation)); err != nil {
		return nil, err
	}
	still, err := r.b.find(r.b.ctx, r.b.sql.held, worker, names.key, names.generation)
	if len(still) < len(names.key) { // a look is a sweep of every Work
		r.b.watchers.look()
	}
	return still, err
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
