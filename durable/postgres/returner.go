package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// returner finishes work on rows that a caller's open transaction has locked: it returns the
// leases of rows that could not be claimed, and stores outcomes. returner also stores outcomes
// that the database rejects. Since rejected outcomes may fail forever, returner tries all of
// them together, after pauses that grow, and logs one error per try. After a crash of the
// server, returner stores the last acknowledgements again.
type returner struct {
	*session
	announcer *announcer
	wake      chan struct{}

	mu       sync.Mutex
	rows     map[holding]time.Time       // to give back from a time on. Guarded by mu.
	outcomes map[holding]backend.Outcome // to try now. Guarded by mu.
	rejected map[holding]backend.Outcome // to try again, even during a try. Guarded by mu.
	again    time.Time                   // Guarded by mu.
	crash    time.Time                   // of the server, when acknowledge was called. Guarded by mu.
	pause    time.Duration               // before again; 0 if the last try left no outcome rejected. Guarded by mu.
}

// holding is a row of a worker.
type holding struct {
	worker int64
	backend.Ref
}

const (
	repeatFor        = 2 * time.Second // after a crash, see repeats
	minRejectedPause = time.Second
	maxRejectedPause = 10 * time.Second

	// maxRejected bounds the memory of rejected outcomes, and the transactions of a try: two
	// per outcome. Beyond the bound, workers keep outcomes.
	maxRejected = 1000
)

func newReturner(s *session, a *announcer) *returner {
	return &returner{
		session:   s,
		announcer: a,
		wake:      make(chan struct{}, 1),
		rows:      make(map[holding]time.Time),
		outcomes:  make(map[holding]backend.Outcome),
		rejected:  make(map[holding]backend.Outcome),
	}
}

// giveBack takes over a row that worker may have leased, to return the row after the longest
// pause given for the row.
func (r *returner) giveBack(worker int64, ref backend.Ref, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := holding{worker, ref}
	if from := time.Now().Add(pause); from.After(r.rows[row]) {
		r.rows[row] = from
	}
	r.hurry()
}

// keep takes over the outcomes that f has not stored: outcomes of locked rows, and rejected
// outcomes. keep returns the error of an outcome if too many are rejected. Outcomes that
// follow before the next try are neither logged nor tried alone.
func (r *returner) keep(f *finishing) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range f.outcomes {
		if f.locked[i] {
			r.outcomes[holding{f.worker, o.Ref}] = o
			f.applied[i] = true
			r.hurry()
		}
	}
	before := len(r.rejected)
	if len(f.rejected) > 0 && before+len(f.rejected) > maxRejected {
		return f.rejected[0].err
	}
	r.setApart(f)
	if before == 0 && len(f.rejected) > 0 {
		r.postpone(f.rejected[0].err)
	}
	return nil
}

// setApart keeps the rejected outcomes of f for the next try. The caller holds mu.
func (r *returner) setApart(f *finishing) {
	for _, o := range f.rejected {
		r.rejected[holding{f.worker, o.Ref}] = o.Outcome
	}
}

// postpone sets the time of the next try of rejected outcomes. The caller holds mu.
func (r *returner) postpone(err error) {
	r.pause = min(max(2*r.pause, minRejectedPause), maxRejectedPause)
	r.again = time.Now().Add(r.pause)
	r.options.Logger.Error("durable: the database rejects outcomes of entries, which stay claimed; retrying",
		"error", err, "entries", len(r.rejected), "pause", r.pause)
	r.hurry()
}

// await waits for the outcomes of worker, for half of the time that ctx leaves, and for one more
// try of rejected ones. After the end of the lease, other workers may take the rows over first,
// and fire them again.
func (r *returner) await(ctx context.Context, worker int64) {
	wait := r.options.Timeout
	if end, ok := ctx.Deadline(); ok {
		wait = time.Until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r.hasten(worker)
	for r.has(worker) && ctx.Err() == nil && r.ctx.Err() == nil {
		r.sleep(ctx, 10*time.Millisecond)
	}
}

// hasten makes the rejected outcomes of worker ones to try now.
func (r *returner) hasten(worker int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for row, o := range r.rejected {
		if row.worker == worker {
			r.outcomes[row] = o
			delete(r.rejected, row)
		}
	}
	r.hurry()
}

// has reports whether an outcome of worker waits for a try.
func (r *returner) has(worker int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for row := range r.outcomes {
		if row.worker == worker {
			return true
		}
	}
	return false
}

// acknowledge takes over acknowledgements that the server may have lost. An acknowledgement that the
// server still has does not apply.
func (r *returner) acknowledge(lost []ack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crash = time.Now()
	for _, a := range lost {
		for i := range a.refs.key {
			r.outcomes[holding{a.worker, a.refs.at(i)}] = backend.Outcome{Ref: a.refs.at(i)}
		}
	}
	r.hurry()
}

// repeats reports whether outcomes of worker come before the adoption of its rows: for a moment after a crash, since a crash
// that takes longer than a lease loses acknowledgements and leases. An open transaction may lock rows for longer.
func (r *returner) repeats(worker int64) bool {
	r.mu.Lock()
	recent := time.Since(r.crash) < repeatFor
	r.mu.Unlock()
	return recent && r.has(worker)
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
		case <-r.ctx.Done():
			return
		}
		for left := true; left && r.ctx.Err() == nil; {
			r.sleep(r.ctx, 50*time.Millisecond) // a row with a failed claim is leased again immediately
			rows := r.tryRows()
			left = r.tryOutcomes() || rows
		}
	}
}

// tryOutcomes tries each outcome once, and rejected outcomes at their time. tryOutcomes reports
// whether any is left.
func (r *returner) tryOutcomes() (left bool) {
	var last error
	for worker, outcomes := range r.toTry() {
		f, err := finish(r.ctx, r.session, worker, outcomes)
		for i, o := range outcomes {
			if o.Fate != backend.Done && f.applied[i] { // even if others failed
				r.announcer.freed() // a retry may be due
				break
			}
		}
		if err != nil {
			left, last = true, err
			continue
		}
		if len(f.rejected) > 0 {
			last = f.rejected[0].err
		}
		left = left || slices.Contains(f.locked, true)
		r.forget(f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.rejected) == 0 && last == nil:
		r.pause = 0
	case len(r.rejected) > 0 && last != nil && !time.Now().Before(r.again) && r.ctx.Err() == nil:
		r.postpone(last)
	}
	return left || len(r.rejected) > 0
}

// toTry returns the outcomes of the next try, by worker.
func (r *returner) toTry() map[int64][]backend.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[holding]backend.Outcome)
	if !time.Now().Before(r.again) {
		maps.Copy(all, r.rejected)
	}
	maps.Copy(all, r.outcomes)
	work := make(map[int64][]backend.Outcome)
	for row, o := range all {
		work[row.worker] = append(work[row.worker], o)
	}
	return work
}

// forget drops the outcomes except for rows that are still locked, and sets the rejected
// outcomes apart. It keeps an outcome that has replaced another since.
func (r *returner) forget(f *finishing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range f.outcomes {
		row := holding{f.worker, o.Ref}
		for _, some := range []map[holding]backend.Outcome{r.outcomes, r.rejected} {
			if !f.locked[i] && some[row] == o {
				delete(some, row)
			}
		}
	}
	r.setApart(f)
}

// tryRows returns the leases of the unlocked rows that are due, and reports whether any row is
// left. If the database rejects the return of a lease, it is tried again after a pause, without
// the others.
func (r *returner) tryRows() (left bool) {
	var rows []holding
	r.mu.Lock()
	for row, from := range r.rows {
		if !time.Now().Before(from) {
			rows = append(rows, row)
		}
	}
	r.mu.Unlock()
	at := make([]int, len(rows))
	for i := range at {
		at[i] = i
	}
	// After another error, the rows stay.
	_ = inHalves(r.ctx, at, func(at []int) error { return r.unlease(rows, at) }, func(i int, _ error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rows[rows[i]] = time.Now().Add(maxRejectedPause)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.rows) > 0
}

// unlease returns the leases of the rows at positions, except for locked rows.
func (r *returner) unlease(rows []holding, at []int) error {
	var names refs
	var workers []int64
	for _, i := range at {
		names.add(rows[i].Ref)
		workers = append(workers, rows[i].worker)
	}
	freed := make([]bool, len(at))
	locked := make([]bool, len(at))
	err := r.simple(r.ctx,
		query(scanPositions(freed), unleaseSQL, names.key, names.generation, workers),
		query(scanPositions(locked), heldSQL, names.key, names.generation, workers))
	if err != nil {
		return err
	}
	if slices.Contains(freed, true) {
		r.announcer.look() // a sweep of every Work
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, i := range at {
		if !locked[n] {
			delete(r.rows, rows[i])
		}
	}
	return nil
}
