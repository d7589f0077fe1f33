package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// completer stores the outcomes of claims in batches. Until the database has stored an outcome,
// the row stays in the table, so that the Work does not fire a copy of it: a success outlasts even
// the lease, unless another worker has taken over the row.
type completer struct {
	common
	batcher
	released atomic.Bool     // a claimed row became pending again: other workers must look
	claims   chan<- struct{} // wakes the claimer for its next suspect. Immutable after newClaimer.

	mu       sync.Mutex
	finished []*flight // waiting for the next batch. Guarded by mu.
}

func newCompleter(w common) *completer {
	c := &completer{common: w}
	c.batcher = batcher{make(chan struct{}, 1), c.flushOne}
	return c
}

// finish takes a row over, with the outcome of its claim.
func (c *completer) finish(h *flight, outcome backend.Outcome) {
	outcome.Ref, outcome.InTx = h.row.Ref(), h.inTx.Load()
	h.outcome = outcome
	c.mu.Lock()
	defer c.mu.Unlock()
	h.move(finished)
	h.done.Store(outcome.Fate == backend.Done)
	h.claimed.Store(outcome.Fate != backend.Release) // the other outcomes end the row's Ref
	c.finished = append(c.finished, h)
	if h.row.Crashes > 0 { // the next suspect waits for it
		request(c.wake)
	}
}

// release makes a claimed row pending again.
func (c *completer) release(h *flight) { c.finish(h, backend.Outcome{Fate: backend.Release}) }

// finishTx stores the success of a running handler inside its transaction.
func (c *completer) finishTx(ctx context.Context, tx backend.Tx, h *flight) error {
	if !c.lease.holds(h.term) {
		return ErrLeaseLost
	}
	applied, err := tx.Finish(ctx, h.row.Holder, []backend.Outcome{{Ref: h.row.Ref(), Fate: backend.Done}})
	if err == nil && !applied[0] {
		if err = ErrLeaseLost; h.inTx.Load() {
			err = fmt.Errorf("%w, or an earlier call of Done counts", err)
		}
	}
	if err == nil {
		h.inTx.Store(true)
	}
	return err
}

// acknowledged reports whether a transaction in which the handler has called Tx.Done has deleted the row. The
// handler may return an error after the commit, or because the transaction rolled back: only the database knows. A
// claim of a row that the worker has claimed changes nothing.
func (c *completer) acknowledged(h *flight) bool {
	if !h.inTx.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	answers, err := c.backend.Claim(ctx, h.row.Holder, []backend.Claim{{Ref: h.row.Ref(), Again: true}})
	return err == nil && answers[0] == backend.Overtaken && c.lease.holds(h.term)
}

// flushOne stores a batch of outcomes. It reports whether there are more, and whether the database
// stored this batch.
func (c *completer) flushOne(ctx context.Context) (more, ok bool) {
	c.mu.Lock()
	n := slices.IndexFunc(c.finished, func(h *flight) bool { return h.row.Holder != c.finished[0].row.Holder })
	if n < 0 {
		n = len(c.finished)
	}
	rows := moveAll(takeFirst(&c.finished, min(n, c.limits.MaxBatch)), storing)
	more = len(c.finished) > 0
	c.mu.Unlock()
	return more, len(rows) == 0 || c.store(ctx, rows)
}

// store stores outcomes of rows that were claimed under one lease. After an error, they are tried again with the next
// flush while the lease lasts, and successes until Work drains, except outcomes that the database reports as stored. An outcome
// is also tried again if the database lost the claim and then claimed the row for this worker a second time.
func (c *completer) store(ctx context.Context, rows []*flight) bool {
	holder, valid := rows[0].row.Holder, c.lease.holds(rows[0].term)
	outcomes := make([]backend.Outcome, 0, len(rows))
	kept := rows[:0]
	for _, h := range rows {
		if !valid && (h.outcome.Fate != backend.Done || c.flights.acknowledges(h)) {
			c.flights.remove(h)
			continue
		}
		outcomes = append(outcomes, h.outcome)
		kept = append(kept, h)
	}
	applied, err := c.backend.Finish(ctx, holder, outcomes)
	again := err != nil && !errors.Is(err, ErrClosed)
	if again && ctx.Err() == nil {
		c.trouble("durable: cannot store outcomes; retrying", err, "entries", len(kept))
	}
	if len(applied) < len(kept) { // the call stored no outcome
		applied = make([]bool, len(kept))
	}
	_, draining := c.flights.size()
	left, back := kept[:0], []*flight(nil)
	for i, h := range kept {
		gone := true
		switch {
		case err == nil && !applied[i]:
			gone = c.leave(h)
		case !applied[i]: // unless another worker may fire it
			gone = !again || (!h.done.Load() || draining) && !c.lease.holds(h.term)
		}
		if !gone {
			back = append(back, h)
			continue
		}
		if left = append(left, h); err == nil || applied[i] {
			c.stored(h, applied[i])
		}
	}
	c.remove(left, back)
	return err == nil
}

// remove removes rows from the table, and puts others back into the next batch.
func (c *completer) remove(left, back []*flight) {
	c.flights.remove(left...)
	if slices.ContainsFunc(left, func(h *flight) bool { return h.row.Crashes > 0 }) {
		request(c.claims)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = append(c.finished, moveAll(back, finished)...)
}

// stored counts an outcome if it applied. It requests a sweep for a retry that is due soon.
func (c *completer) stored(h *flight, applied bool) {
	switch fate := h.outcome.Fate; {
	case fate == backend.Done && c.flights.acknowledges(h): // its copy counts
	case fate == backend.Done && (applied || h.inTx.Load() || c.lease.holds(h.term)):
		h.kind.counts.succeeded.Add(1)
	case fate == backend.Done:
		c.backend.Trouble().Log(c.options.Logger, slog.LevelWarn, "durable: a handler succeeded after the end of the worker's lease; the entry may fire again",
			h.row.Key, "key", h.row.Key, "id", firingID(&h.row))
	case fate == backend.Release:
		c.sweep.want()
		c.released.Store(true)
	case fate == backend.Retry || fate == backend.Postpone:
		if c.isNear(h.outcome.Due) {
			c.sweep.want()
		}
		if counts := h.kind.counts; applied && fate == backend.Retry {
			counts.retried.Add(1)
		} else if applied {
			counts.postponed.Add(1)
		}
	case fate == backend.Bury && applied:
		h.kind.counts.givenUp.Add(1)
		c.options.Logger.Warn("durable: an entry became a dead letter",
			"key", h.row.Key, "id", firingID(&h.row), "attempts", h.row.Attempt, "error", h.outcome.Error)
	}
}

// flushAll waits until the outcomes are stored that are left after all handlers have returned.
func (c *completer) flushAll() {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	for ctx.Err() == nil {
		c.mu.Lock()
		waiting := len(c.finished)
		c.mu.Unlock()
		if held, _ := c.flights.size(); held+waiting == 0 {
			return
		}
		request(c.wake)
		time.Sleep(time.Millisecond)
	}
}

// gather is the time for which claims and outcomes are gathered into one transaction.
const gather = 40 * time.Millisecond

// maxPause bounds the pause after calls of the database that failed.
const maxPause = 2 * time.Second

// batcher calls flush periodically. Claims and outcomes have one batcher each, so that
// outcomes that are slow or fail delay no claim. Both flush at the same moments: a backend may put
// the two into one transaction.
type batcher struct {
	wake  chan struct{}
	flush func(context.Context) (more, ok bool)
}

// run flushes until ctx ends.
func (b *batcher) run(ctx context.Context) {
	tick := time.NewTicker(gather)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-b.wake:
		}
		pause := gather
		for more := true; more; {
			var ok bool
			if more, ok = b.flush(ctx); ok {
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

// takeFirst removes up to n rows from the front of a list. The two share no memory that
// either writes.
func takeFirst(list *[]*flight, n int) []*flight {
	n = min(n, len(*list))
	first := (*list)[:n:n]
	if *list = (*list)[n:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
