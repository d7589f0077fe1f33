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
	rejected outcomes                       // to try at again. Guarded by mu.
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

// reject takes over rejected outcomes, or returns the error of one if it has too many.
func (r *returner) reject(worker int64, rejected []rejection) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(rejected)
	if n == 0 {
		return nil
	}
	for _, others := range r.rejected {
		n += len(others)
	}
	if n > maxRejected {
		return rejected[0].err
	}
	r.setApart(worker, rejected)
	return nil
}

// setApart keeps rejected outcomes for the next try. Those that follow before it are neither
// logged nor tried alone. The caller holds mu.
func (r *returner) setApart(worker int64, rejected []rejection) {
	if len(rejected) > 0 && len(r.rejected) == 0 {
		r.pause = min(max(2*r.pause, minRejectedPause), maxRejectedPause)
		r.again = time.Now().Add(r.pause)
		r.b.options.Logger.Error("durable: the database rejects outcomes of entries, which stay claimed; retrying",
			"error", rejected[0].err, "entries", len(rejected), "pause", r.pause)
		r.hurry()
	}
	for _, o := range rejected {
		r.rejected.put(worker, o.Outcome)
	}
}

// readmit makes the rejected outcomes ones to try now if it is time.
func (r *returner) readmit() (readmitted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rejected) == 0 || time.Now().Before(r.again) {
		return false
	}
	for worker, rejected := range r.rejected {
		for _, o := range rejected {
			r.outcomes.put(worker, o)
		}
	}
	clear(r.rejected)
	return true
}

// await waits for the outcomes of worker, for half of the time that ctx leaves. After the end of
// the lease, other workers may take the rows over first, and fire them again. It does not wait
// for rejected ones.
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
	readmitted := r.readmit()
	r.mu.Lock()
	work := make(map[int64][]backend.Outcome)
	for worker, outcomes := range r.outcomes {
		work[worker] = slices.Collect(maps.Values(outcomes))
	}
	r.mu.Unlock()
	for worker, outcomes := range work {
		f, err := r.b.finish(r.b.ctx, worker, outcomes)
		if err != nil {
			left = true
			continue
		}
		left = left || len(f.locked) > 0
		r.forget(worker, f)
		for i, o := range outcomes {
			if o.Fate != backend.Done && f.applied[i] {
				r.b.watchers.look() // a retry may be due
				r.b.announcer.announce()
				break
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if readmitted && len(r.rejected) == 0 {
		r.pause = 0
	}
	return left || len(r.rejected) > 0
}

// forget drops the outcomes except those of rows that are still locked, and sets the rejected
// ones apart.
func (r *returner) forget(worker int64, f *finishing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.outcomes[worker]
	for _, o := range f.outcomes {
		if !f.locked[o.Ref] && left[o.Ref] == o { // not another one that came meanwhile
			delete(left, o.Ref)
		}
	}
	if len(left) == 0 {
		delete(r.outcomes, worker)
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
