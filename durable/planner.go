package durable

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable/backend"
)

// planner plans the claims of recurring rows and of serial kinds. The claim of an occurrence stores the next one and
// leaves out missed ones, and only the worker can compute their times: a schedule may be code of
// the user. It may panic, end its goroutine, or return nonsense, and must stop no other row.
type planner struct {
	common
}

// plan fills in the claim of h, and reports whether the row is to be claimed.
func (p *planner) plan(h *flight) (ok bool) {
	r := &h.row
	if r.State == backend.Claimed {
		h.claim = backend.Claim{Ref: r.Ref(), Again: true}
		return true
	}
	h.claim = backend.Claim{Ref: r.Ref(), Busy: p.busy(h)}
	switch {
	case r.Every == "" || r.Begun():
		return true
	case r.Schedule == "":
		return p.planNext(h)
	}
	var plan sync.WaitGroup
	plan.Go(func() { ok = p.planNext(h) }) // a Goexit in the user's schedule must not end the caller's
	plan.Wait()
	return ok
}

// busy returns the treatment of h while another row of its key is claimed. An occurrence is skipped only after its due
// time and after some waits: the claim comes before the due time, and the outcome of the occurrence
// before may not be stored yet. A row that cannot be decoded becomes a dead letter later.
func (p *planner) busy(h *flight) backend.Busy {
	r := &h.row
	if h.kind.options.Serial {
		return backend.Wait
	}
	if r.Every == "" {
		return backend.Ignore
	}
	every, err := decodeEvery(r.Every, r.Schedule)
	switch {
	case err != nil || every.Overlap == clock.OverlapParallel:
		return backend.Ignore
	case every.Overlap == clock.OverlapSkip && !r.Begun() && h.waits >= 2 && p.untilDue(r) <= 0:
		return backend.Skip
	}
	return backend.Wait
}

// planNext is plan for a recurring row. If it does not find the next occurrence, it returns false,
// even if the schedule panics or ends the goroutine.
func (p *planner) planNext(h *flight) (ok bool) {
	err := errors.New("the schedule ended its goroutine")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the schedule panicked: %v", v)
		}
		if ok = err == nil; !ok {
			p.backend.Trouble().Log(p.options.Logger, slog.LevelWarn, "durable: cannot find the next occurrence; the entry waits", h.row.Key+err.Error(),
				"key", h.row.Key, "error", err)
			p.sweep.unplanned.Store(true)
		}
	}()
	fires, next, err := p.occurrence(&h.row, h.kind.options.Schedules)
	if h.claim.Skip = fires.IsZero(); !h.claim.Skip && fires.UnixNano() != h.row.Due {
		h.claim.Due = fires.UnixNano()
	}
	if err == nil && !next.IsZero() {
		row := h.row
		row.Due, row.Origin, row.Nonce = next.UnixNano(), 0, newNonce()
		h.claim.Next = &row
	}
	return err == nil
}

// occurrence returns the time at which a claimed row fires, or zero if it was missed, and the
// time of the next row, or zero after the last one. A row that was missed by less than sweepEvery
// fires in place of the next row: the next row would be missed, too, if the database took longer
// than the period to return it.
func (p *planner) occurrence(r *backend.Row, schedules map[string]clock.Schedule) (fires, next time.Time, err error) {
	every, err := decodeEvery(r.Every, r.Schedule)
	if err != nil {
		return fires, next, err
	}
	schedule := schedules[every.Schedule]
	if every.Spec != "" {
		schedule, err = clock.ParseSpec(every.Spec)
	} else if schedule == nil {
		err = fmt.Errorf("WorkOptions.Schedules has no %q", every.Schedule)
	}
	if err != nil {
		return fires, next, err
	}
	due, now := time.Unix(0, r.Due).UTC(), time.Unix(0, max(p.clock.nanos(), r.Due)).UTC()
	if next = schedule.Next(due); !next.IsZero() && !next.After(due) {
		return fires, next, fmt.Errorf("the schedule returned %v (expected: after %v)", next, due)
	}
	runs, next := every.Missed.Plan(schedule, due, now)
	if len(runs) > 0 && runs[0].Sub(due) < sweepEvery {
		fires, runs = runs[0], runs[1:]
	}
	if len(runs) > 0 {
		next = runs[0]
	}
	if next.After(maxDue) {
		next = time.Time{}
	}
	return fires, next, nil
}
