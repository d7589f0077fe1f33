package durable

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

const (
	// claimAhead is the time from the claim of a row to its due time. Cancel and Move
	// win until the claim.
	claimAhead = 150 * time.Millisecond

	// gather is the time for which claims and outcomes are gathered into one transaction.
	gather = 40 * time.Millisecond

	// overdueAhead is the number of overdue rows per handler that wait in the queue,
	// claimed. Further ones stay pending, where Cancel reaches them, unless the database
	// claims overdue rows as it leases them.
	overdueAhead = 8
)

// awaitClaim puts a row into ahead until claimAhead before it is due, into claimable if less
// time is left, or into backlog if it is overdue.
func (w *worker) awaitClaim(h *held) {
	wait := h.untilDue() - claimAhead
	w.mu.Lock()
	switch {
	case h.gone || w.draining:
		w.forget(h)
	case wait > 0:
		h.move(ahead)
		turn := (h.row.Due - int64(claimAhead)) / int64(gather)
		w.ahead[turn] = append(w.ahead[turn], h)
	case wait <= -claimAhead:
		h.move(backlog)
		w.backlog = append(w.backlog, h)
	default:
		h.move(claimable)
		w.claimable = append(w.claimable, h)
	}
	w.mu.Unlock()
	if wait <= gather-claimAhead {
		w.hurry()
	}
}

// takeAhead moves rows to claimable whose time has come, and those that are so far ahead that
// the clock was set back: awaitDue releases them. The caller holds mu.
func (w *worker) takeAhead() {
	now := w.store.clock.nanos()
	far := now + int64(w.store.limits.Lead+nearSlack)
	for _, turn := range slices.Sorted(maps.Keys(w.ahead)) {
		if turn > now/int64(gather) && turn <= far/int64(gather) {
			continue
		}
		rows := w.ahead[turn]
		later := rows[:0]
		for _, h := range rows {
			switch {
			case h.gone:
				h.move(dropped)
			case h.row.Due > now+int64(claimAhead) && h.row.Due <= far:
				later = append(later, h)
			default:
				h.move(claimable)
				w.claimable = append(w.claimable, h)
			}
		}
		if clear(rows[len(later):]); len(later) > 0 {
			w.ahead[turn] = later
		} else {
			delete(w.ahead, turn)
		}
	}
}

// makeRoom drops a row from ahead that is due after a new row, if there is one, and reports whether it
// did. The row comes again by a sweep. If the database has marked it as leased, free makes the
// database return it. The caller holds mu.
func (w *worker) makeRoom(due int64) bool {
	last := int64(math.MinInt64)
	for turn := range w.ahead {
		last = max(last, turn)
	}
	rows := w.ahead[last]
	for i, h := range rows {
		if h.gone || h.row.Due <= due {
			continue
		}
		if w.ahead[last] = slices.Delete(rows, i, i+1); len(rows) == 1 {
			delete(w.ahead, last)
		}
		w.forget(h)
		w.sweep.Store(true)
		if h.leased {
			w.unplanned.Store(true)
		}
		return true
	}
	return false
}

// hurry makes both loops of keepBooks flush now.
func (w *worker) hurry() {
	request(w.claims)
	request(w.outcomes)
}

// request wakes a goroutine that receives from c, now or later.
func request(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // already requested
	}
}

// keepBooks flushes until ctx ends. Claims and outcomes have one loop each, so that outcomes
// that are slow or fail delay no claim. Both loops flush at the same moments: a backend may put
// the two into one transaction.
func (w *worker) keepBooks(ctx context.Context, wake <-chan struct{}, flush func(context.Context) (more, ok bool)) {
	tick := time.NewTicker(gather)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		pause := gather
		for more := true; more; {
			var ok bool
			if more, ok = flush(ctx); ok {
				pause = gather
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxPause)
			more = true
		}
	}
}

// flushClaims stores a batch of claims. It reports whether more can be stored immediately, and
// whether the database stored this one.
func (w *worker) flushClaims(ctx context.Context) (more, ok bool) {
	claims, more := w.takeClaims()
	return more, len(claims) == 0 || w.storeClaims(ctx, claims)
}

// flushOutcomes is flushClaims for outcomes.
func (w *worker) flushOutcomes(ctx context.Context) (more, ok bool) {
	w.mu.Lock()
	outcomes := moveAll(takeFirst(&w.finished, w.store.limits.MaxBatch), storing)
	more = len(w.finished) > 0
	w.mu.Unlock()
	return more, len(outcomes) == 0 || w.storeOutcomes(ctx, outcomes)
}

// endWithin is the time that the end of Work gives the database for each of its last calls.
const endWithin = 5 * time.Second

// flushAll stores the outcomes that are left after all handlers have returned.
func (w *worker) flushAll() {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	for {
		w.mu.Lock()
		stored := len(w.finished) == 0 && len(w.held) == 0
		w.mu.Unlock()
		if stored || ctx.Err() != nil {
			return
		}
		w.hurry()
		time.Sleep(time.Millisecond)
	}
}

// takeClaims returns rows to claim. While Work drains, rows are dropped instead.
func (w *worker) takeClaims() (claims []*held, more bool) {
	queued := w.queue.len()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takeAhead()
	most := w.store.limits.MaxBatch
	claims = takeFirst(&w.claimable, most)
	overdue := takeFirst(&w.backlog, min(most-len(claims), max(0, overdueAhead*w.options.Concurrency-queued)))
	more = len(w.claimable) > 0 || len(overdue) > 0 && len(w.backlog) > 0
	if claims = append(claims, overdue...); !w.draining {
		return moveAll(claims, claiming), more
	}
	for _, h := range slices.Concat(claims, w.claimable, w.backlog) {
		w.forget(h)
	}
	w.claimable, w.backlog = nil, nil
	return nil, false
}

// takeFirst removes up to n rows from the front of a list. The two share no memory that
// either writes.
func takeFirst(list *[]*held, n int) []*held {
	n = min(n, len(*list))
	first := (*list)[:n:n]
	if *list = (*list)[n:]; len(*list) == 0 {
		*list = nil
	}
	return first
}

// storeClaims claims rows and puts them into their next places. On an error, they are
// tried again with the next flush while the lease lasts.
func (w *worker) storeClaims(ctx context.Context, rows []*held) bool {
	begun := time.Now()
	id, term, valid := w.lease.current()
	claims := make([]backend.Claim, 0, len(rows))
	kept := rows[:0]
	for _, h := range rows {
		if !valid || h.term != term {
			w.drop(h)
		} else if w.planClaim(h) {
			claims = append(claims, h.claim)
			kept = append(kept, h)
		}
	}
	if len(claims) == 0 {
		return true
	}
	won, err := w.store.backend.Claim(ctx, id, claims)
	w.store.counts.claimTime.note(time.Since(begun))
	if err != nil {
		if ctx.Err() == nil {
			w.store.trouble("durable: cannot claim due entries; retrying", err, "entries", len(claims))
		}
		if errors.Is(err, ErrLeaseLost) {
			w.lost(id)
		}
	}
	if won == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.claimable = append(w.claimable, moveAll(kept, claimable)...)
		return false
	}
	for i, h := range kept {
		w.claimed(h, won[i])
	}
	return true
}

// claimed puts a row whose claim was answered into its next place.
func (w *worker) claimed(h *held, won bool) {
	if won && (h.claim.Skip || h.claim.Due != 0) {
		w.store.counts.missed.Add(1)
	}
	switch {
	case !won:
		w.store.counts.overtaken.Add(1)
		w.drop(h)
	case h.claim.Skip:
		w.drop(h)
	default:
		h.row.State, h.row.Due = backend.Claimed, cmp.Or(h.claim.Due, h.row.Due)
		w.awaitDue(h)
	}
	if won && h.claim.Next != nil && w.store.isNear(h.claim.Next.Due) {
		w.sweep.Store(true) // the generation of Next is known to the database only
	}
}

// finish puts a row into finished.
func (w *worker) finish(h *held, outcome backend.Outcome) {
	outcome.Ref = h.row.Ref()
	h.outcome = outcome
	w.mu.Lock()
	defer w.mu.Unlock()
	h.move(finished)
	h.done = outcome.Fate == backend.Done
	w.finished = append(w.finished, h)
}

// storeOutcomes stores outcomes. After an error, they are tried again with the next flush while the
// lease lasts, and successes until Work drains, except those that the database reports as stored.
func (w *worker) storeOutcomes(ctx context.Context, rows []*held) bool {
	id, term, valid := w.lease.current()
	outcomes := make([]backend.Outcome, 0, len(rows))
	kept := rows[:0]
	for _, h := range rows {
		if h.outcome.Fate != backend.Done && !(valid && h.term == term) {
			w.drop(h)
			continue
		}
		outcomes = append(outcomes, h.outcome)
		kept = append(kept, h)
	}
	applied, err := w.store.backend.Finish(ctx, id, outcomes)
	again := err != nil && !errors.Is(err, ErrClosed)
	if again && ctx.Err() == nil {
		w.store.trouble("durable: cannot store outcomes; retrying", err, "entries", len(kept))
	}
	if len(applied) < len(kept) { // it stored none
		applied = make([]bool, len(kept))
	}
	for i, h := range kept {
		if err == nil || applied[i] {
			w.outcomeStored(h, applied[i])
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, h := range kept {
		if again && !applied[i] && (h.done && !w.draining || w.lease.holds(h.term)) {
			h.move(finished)
			w.finished = append(w.finished, h)
		} else {
			w.forget(h)
		}
	}
	return err == nil
}

// outcomeStored counts an outcome if it applied. A retry that is due soon comes again by a sweep.
func (w *worker) outcomeStored(h *held, applied bool) {
	switch fate := h.outcome.Fate; {
	case fate == backend.Release:
		w.sweep.Store(true)
		w.released.Store(true)
	case fate == backend.Retry:
		if w.store.isNear(h.outcome.Due) {
			w.sweep.Store(true)
		}
		if applied {
			w.store.counts.retried.Add(1)
		}
	case fate == backend.Bury && applied:
		w.store.counts.givenUp.Add(1)
		w.log.Warn("durable: an entry became a dead letter",
			"key", h.row.Key, "id", firingID(&h.row), "attempts", h.row.Attempt, "error", h.outcome.Error)
	}
}
