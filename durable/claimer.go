package durable

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// claimAhead is the time from the claim of a row to its due time. Cancel and Move
// win until the claim.
const claimAhead = 150 * time.Millisecond

// claimer claims leased rows in batches, shortly before they are due: a claim ends the time in which
// Cancel and Move win, and a late claim makes the firing late. Overdue rows come after the others,
// as fast as the handlers take them.
type claimer struct {
	common
	batcher
	completer   *completer
	dispatchers []*dispatcher // of the kinds
	planner     *planner
	limiter     *limiter

	mu        sync.Mutex
	ahead     map[int64][]*flight // by time of the claim in units of gather. Guarded by mu.
	claimable turns               // rows that were not yet due. Guarded by mu.
	backlog   []turns             // rows that were overdue, by kind. Guarded by mu.
	suspects  suspects            // Guarded by mu.
	turn      int                 // number of calls of take. Guarded by mu.
	closed    bool                // claims no further row. Guarded by mu.
}

func newClaimer(w common, done *completer, l *limiter, ds []*dispatcher) *claimer {
	c := &claimer{common: w, completer: done, dispatchers: ds, planner: &planner{w}, limiter: l,
		ahead: make(map[int64][]*flight), backlog: make([]turns, len(ds))}
	c.batcher = batcher{make(chan struct{}, 1), c.flushOne}
	done.claims, l.claims = c.wake, c.wake
	return c
}

// await claims a row claimAhead before it is due, or soon if less time is left.
func (c *claimer) await(h *flight) {
	wait := c.untilDue(&h.row) - claimAhead
	if c.put(h, wait); wait <= gather-claimAhead {
		c.flushSoon()
	}
}

// put puts a row into the list for a claim after wait. Once the claimer is closed, it leaves the
// row to other workers.
func (c *claimer) put(h *flight, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		c.flights.remove(h)
	case h.row.State == backend.Claimed:
		tried.leave(h)
		c.suspects.add(h)
	case wait > 0:
		h.move(ahead)
		turn := (h.row.Due - int64(claimAhead)) / int64(gather)
		c.ahead[turn] = append(c.ahead[turn], h)
	case wait <= -claimAhead:
		h.move(backlog)
		c.backlog[h.kind.index].put(h)
	default:
		h.move(claimable)
		c.claimable.put(h)
	}
}

// busyPause is the pause before the next claim of a row that waits for another firing of its key.
const busyPause = 100 * time.Millisecond

// postpone claims a row after busyPause.
func (c *claimer) postpone(h *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tried.leave(h)
	if c.closed {
		c.flights.remove(h)
		return
	}
	c.limiter.left([]*flight{h})
	h.move(ahead)
	h.waits++
	turn := (c.clock.nanos() + int64(busyPause)) / int64(gather)
	c.ahead[turn] = append(c.ahead[turn], h)
}

// flushSoon makes the batches of claims and outcomes begin now.
func (c *claimer) flushSoon() {
	request(c.wake)
	request(c.completer.wake)
}

// close leaves unclaimed rows, and suspects, to other workers.
func (c *claimer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.flights.remove(slices.Concat(slices.Collect(maps.Values(c.ahead))...)...)
	for i := range c.backlog {
		c.flights.remove(c.backlog[i].takeFirst(c.backlog[i].n)...)
	}
	c.flights.remove(c.claimable.takeFirst(c.claimable.n)...)
	c.flights.remove(c.suspects.clear()...)
	clear(c.ahead)
}

// suspectRoom returns the number of rows that may be adopted: suspects take at most half of the table.
func (c *claimer) suspectRoom() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.flights.total.most+1)/2 - c.suspects.size()
}

// dropLatest drops a row that is due among the last and later than a new row of a kind, with inGroup one of the new
// row's group, and reports whether it found one. A sweep finds the dropped row again. If the database has marked the row as
// leased, the sweep makes the database return it first.
func (c *claimer) dropLatest(k *kind, row *backend.Row, inGroup bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.takeLatest(k, row, inGroup)
	if h == nil {
		return false
	}
	if c.sweep.want(); c.flights.wasLeased(h) {
		c.sweep.unplanned.Store(true)
	}
	c.flights.remove(h)
	return true
}

// takeLatest takes the row for dropLatest. The caller holds mu.
func (c *claimer) takeLatest(k *kind, row *backend.Row, inGroup bool) *flight {
	for _, turn := range slices.Backward(slices.Sorted(maps.Keys(c.ahead))) {
		if turn < (row.Due-int64(claimAhead))/int64(gather) {
			return nil
		}
		rows := c.ahead[turn]
		i := slices.IndexFunc(rows, func(h *flight) bool {
			return h.row.Due > row.Due && h.row.State == backend.Pending && h.kind.memory == k.memory &&
				(!inGroup || h.row.Group == row.Group)
		})
		if i < 0 {
			continue
		}
		h := rows[i]
		if c.ahead[turn] = slices.Delete(rows, i, i+1); len(rows) == 1 {
			delete(c.ahead, turn)
		}
		return h
	}
	return nil
}

// flushOne stores a batch of claims. It reports whether more can be stored immediately, and whether
// the database stored this batch.
func (c *claimer) flushOne(ctx context.Context) (more, ok bool) {
	rows, more := c.take()
	return more, len(rows) == 0 || c.store(ctx, rows)
}

// take returns the rows of the next batch.
func (c *claimer) take() (rows []*flight, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeAhead()
	for _, h := range c.limiter.claimable() {
		h.move(claimable)
		c.claimable.put(h)
	}
	most := c.limits.MaxBatch
	suspects := c.suspects.next(&tried, c.flights)
	most -= len(suspects)
	rows = c.claimable.takeFirst(most)
	more = c.claimable.n > 0
	c.turn++
	for n := range c.backlog {
		i := (c.turn + n) % len(c.backlog) // each kind is the first in its turn
		if overdue := &c.backlog[i]; overdue.n > 0 {
			some := overdue.takeFirst(min(most-len(rows), c.dispatchers[i].room()))
			more = more || len(some) > 0 && overdue.n > 0
			rows = append(rows, some...)
		}
	}
	return moveAll(append(suspects, c.limiter.admitClaims(rows)...), claiming), more
}

// takeAhead moves rows to claimable when their time has come. It also moves rows that are so far
// ahead that the clock was set back: the dispatcher releases these. The caller holds mu.
func (c *claimer) takeAhead() {
	now := c.clock.nanos()
	far := now + int64(c.limits.Lead+nearSlack)
	for _, turn := range slices.Sorted(maps.Keys(c.ahead)) {
		if turn > now/int64(gather) && turn <= far/int64(gather) {
			continue
		}
		rows := c.ahead[turn]
		later := rows[:0]
		for _, h := range rows {
			if h.row.Due > now+int64(claimAhead) && h.row.Due <= far {
				later = append(later, h)
			} else if h.row.State == backend.Claimed {
				c.suspects.add(h)
			} else {
				h.move(claimable)
				c.claimable.put(h)
			}
		}
		if clear(rows[len(later):]); len(later) > 0 {
			c.ahead[turn] = later
		} else {
			delete(c.ahead, turn)
		}
	}
}

// store claims rows and passes them on. On an error, they are tried again with the next flush
// while the lease lasts.
func (c *claimer) store(ctx context.Context, rows []*flight) bool {
	c.flights.claiming(1)
	defer c.flights.claiming(-1)
	begun := time.Now()
	id, term, valid := c.lease.current()
	claims := make([]backend.Claim, 0, len(rows))
	kept := rows[:0]
	for _, h := range rows {
		if valid && h.term == term && c.flights.has(h) && c.plan(h) {
			h.row.Holder = id
			claims = append(claims, h.claim)
			kept = append(kept, h)
		} else {
			c.flights.remove(h)
		}
	}
	if len(claims) == 0 {
		return true
	}
	answers, err := c.backend.Claim(ctx, id, claims)
	c.counts.claimTime.note(time.Since(begun))
	if err != nil && ctx.Err() == nil {
		c.trouble("durable: cannot claim due entries; retrying", err, "entries", len(claims))
	}
	if errors.Is(err, ErrLeaseLost) {
		c.lease.lost(id)
	}
	for i, h := range kept {
		if answers == nil {
			c.put(h, 0) // into the next batch
		} else {
			c.answered(h, answers[i])
		}
	}
	return answers != nil
}

// plan fills in the claim of h, and reports whether the row is to be claimed.
func (c *claimer) plan(h *flight) bool {
	if h.row.State == backend.Pending && h.row.Every == "" && !h.kind.options.Serial {
		h.claim = backend.Claim{Ref: h.row.Ref()}
		return true
	}
	return c.planner.plan(h)
}

// missed notes that occurrences of a series were left out, from that of h on: they were missed, or they overlap.
func (c *claimer) missed(h *flight, missed bool) {
	reason := "a handler of the series runs, see Every.Overlap"
	if missed {
		reason = "they were missed, see Every.Missed"
	}
	c.counts.missed.Add(1)
	c.backend.Trouble().Log(c.options.Logger, slog.LevelInfo, "durable: occurrences of a series were left out", h.row.Key+reason,
		"key", h.row.Key, "from", time.Unix(0, h.row.Due).UTC(), "reason", reason)
}

// answered passes on a row with the answer to its claim. A suspect waits for another trial if the database lost the adoption of the
// suspect, and the worker has adopted the suspect a second time since.
func (c *claimer) answered(h *flight, answer backend.Answer) {
	won := answer == backend.Won
	if missed := won && (h.claim.Skip || h.claim.Due != 0); missed || answer == backend.Skipped {
		c.missed(h, missed)
	}
	if (won || answer == backend.Skipped) && h.claim.Next != nil && c.isNear(h.claim.Next.Due) {
		c.sweep.want() // the generation of Next is known to the database only
	}
	switch {
	case answer == backend.Overtaken && !c.leave(h):
		c.put(h, 0)
	case answer == backend.Overtaken:
		c.counts.overtaken.Add(1)
		c.flights.remove(h)
	case answer == backend.Waits:
		c.postpone(h)
	case answer == backend.Skipped || h.claim.Skip || !c.flights.won(h):
		c.flights.remove(h)
	default:
		h.row.State, h.row.Due = backend.Claimed, cmp.Or(h.claim.Due, h.row.Due)
		c.dispatchers[h.kind.index].await(h)
	}
}
