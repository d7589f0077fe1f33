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
// returns the leases of rows that could not be claimed, and stores outcomes. It also stores
// outcomes that the database rejects. Since these may fail forever, it tries all of them
// together, after pauses that grow, and logs one error per try.
type returner struct {
	b     *postgresBackend
	wake  chan struct{}
	tasks sync.WaitGroup

	mu       sync.Mutex
	rows     map[int64]map[backend.Ref]bool // to give back, by worker. Guarded by mu.
	outcomes outcomes                       // to try now. Guarded by mu.
	rejected outcomes                       // to try at again, also while they are tried. Guarded by mu.
	again    time.Time                      // Guarded by mu.
	pause    time.Duration                  // before again; 0 if the last try left no outcome rejected. Guarded by mu.
}

// outcomes are outcomes by worker.
type outcomes map[int64]map[backend.Ref]backend.Outcome

func (all outcomes) put(worker int64, o backend.Outcome) {
	if all[worker] == nil {
		all[worker] = make(map[backend.Ref]backend.Outcome)
	}
	all[worker][o.Ref] = o
}

// drop removes an outcome, unless another one of its row replaced it.
func (all outcomes) drop(worker int64, o backend.Outcome) {
	if all[worker][o.Ref] != o {
		return
	}
	if delete(all[worker], o.Ref); len(all[worker]) == 0 {
		delete(all, worker)
	}
}

// count returns the number of outcomes.
func (all outcomes) count() (n int) {
	for _, some := range all {
		n += len(some)
	}
	return n
}

const (
	minRejectedPause = time.Second
	maxRejectedPause = 10 * time.Second

	// maxRejected bounds the memory of rejected outcomes, and the transactions of a try: two
	// per outcome. Beyond it, workers keep their outcomes.
	maxRejected = 1000
)

func newReturner(b *postgresBackend) *returner {
	r := &returner{
		b:        b,
		wake:     make(chan struct{}, 1),
		rows:     make(map[int64]map[backend.Ref]bool),
		outcomes: make(outcomes),
		rejected: make(outcomes),
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

// finish takes over the outcome of a locked row.
func (r *returner) finish(worker int64, o backend.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes.put(worker, o)
	r.hurry()
}

// reject takes over rejected outcomes, or returns the error of one if it has too many. Those
// that follow before the next try are neither logged nor tried alone.
func (r *returner) reject(worker int64, rejected []rejection) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(rejected) == 0 {
		return nil
	}
	before := r.rejected.count()
	if before+len(rejected) > maxRejected {
		return rejected[0].err
	}
	r.setApart(worker, rejected)
	if before == 0 {
		r.postpone(rejected[0].err)
	}
	return nil
}

// setApart keeps rejected outcomes for the next try. The caller holds mu.
func (r *returner) setApart(worker int64, rejected []rejection) {
	for _, o := range rejected {
		r.rejected.put(worker, o.Outcome)
	}
}

// postpone sets the time of the next try of rejected outcomes. The caller holds mu.
func (r *returner) postpone(err error) {
	r.pause = min(max(2*r.pause, minRejectedPause), maxRejectedPause)
	r.again = time.Now().Add(r.pause)
	r.b.options.Logger.Error("durable: the database rejects outcomes of entries, which stay claimed; retrying",
		"error", err, "entries", r.rejected.count(), "pause", r.pause)
	r.hurry()
}

// await waits for the outcomes of worker, for half of the time that ctx leaves, and for one more
// try of rejected ones. After the end of the lease, other workers may take the rows over first,
// and fire them again.
func (r *returner) await(ctx context.Context, worker int64) {
	wait := r.b.options.Timeout
	if end, ok := ctx.Deadline(); ok {
		wait = time.Until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r.hasten(worker)
	for r.has(worker) && ctx.Err() == nil && r.b.ctx.Err() == nil {
		r.b.sleep(ctx, 10*time.Millisecond)
	}
}

// hasten makes the rejected outcomes of worker ones to try now.
func (r *returner) hasten(worker int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.rejected[worker] {
		r.outcomes.put(worker, o)
	}
	delete(r.rejected, worker)
	r.hurry()
}

// has reports whether an outcome of worker waits for a try.
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

// tryOutcomes tries each outcome once, and rejected ones if it is time. It reports whether any is
// left.
func (r *returner) tryOutcomes() (left bool) {
	var last error
	for worker, outcomes := range r.toTry() {
		f, err := r.b.finish(r.b.ctx, worker, outcomes)
		if err != nil {
			left, last = true, err
			continue
		}
		if len(f.rejected) > 0 {
			last = f.rejected[0].err
		}
		left = left || len(f.locked) > 0
		r.forget(worker, f)
		for i, o := range outcomes {
			if o.Fate != backend.Done && f.applied[i] {
				r.b.look() // a retry may be due
				r.b.Announce()
				break
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.rejected) == 0 && last == nil:
		r.pause = 0
	case len(r.rejected) > 0 && last != nil && !time.Now().Before(r.again) && r.b.ctx.Err() == nil:
		r.postpone(last)
	}
	return left || len(r.rejected) > 0
}

// toTry returns the outcomes of the next try.
func (r *returner) toTry() map[int64][]backend.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(outcomes)
	add := func(some outcomes) {
		for worker, outcomes := range some {
			for _, o := range outcomes {
				all.put(worker, o)
			}
		}
	}
	if !time.Now().Before(r.again) {
		add(r.rejected)
	}
	add(r.outcomes)
	work := make(map[int64][]backend.Outcome)
	for worker, outcomes := range all {
		work[worker] = slices.Collect(maps.Values(outcomes))
	}
	return work
}

// forget drops the outcomes except those of rows that are still locked, and sets the rejected
// ones apart.
func (r *returner) forget(worker int64, f *finishing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range f.outcomes {
		if !f.locked[o.Ref] {
			r.outcomes.drop(worker, o)
			r.rejected.drop(worker, o)
		}
	}
	r.setApart(worker, f.rejected)
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
		r.b.look()
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
