package durable

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Every is a recurrence. Exactly one of Spec and Schedule is set. It is stored with the
// entry.
type Every struct {
	// Spec is the text of a [clock.Spec] without JITTER, such as "@every 5m" or
	// "CRON_TZ=Europe/Berlin 30 9 * * 1-5". The times of "@every" are multiples of the
	// period after the first occurrence.
	Spec string

	// Schedule is a name that workers look up in WorkOptions.Schedules.
	Schedule string

	// Missed is the treatment of occurrences that were due while no worker ran. By
	// default, the last of them fires late, and the others are skipped. Occurrences less
	// than half a second apart may be missed, too.
	Missed clock.Missed
}

func (e Every) isZero() bool { return e == Every{} }

const maxEverySize = 1024

// check returns an error for a recurrence that cannot be stored. The zero Every is valid.
func (e Every) check() error {
	if e.isZero() {
		return nil
	}
	if (e.Spec == "") == (e.Schedule == "") {
		return invalid("Every.Spec: %q, Every.Schedule: %q (expected: exactly one of them)", e.Spec, e.Schedule)
	}
	if len(e.Spec)+len(e.Schedule) > maxEverySize {
		return invalid("Every of %d bytes (expected: up to %d)", len(e.Spec)+len(e.Schedule), maxEverySize)
	}
	if err := e.Missed.Validate(); err != nil {
		return fmt.Errorf("%w: Every: %w", ErrInvalid, err)
	}
	if e.Schedule != "" {
		return nil
	}
	spec, err := clock.ParseSpec(e.Spec)
	if err != nil {
		return fmt.Errorf("%w: Every.Spec: %w", ErrInvalid, err)
	}
	if strings.Contains(spec.String(), "JITTER=") {
		return invalid("Every.Spec: %q (expected: no JITTER)", e.Spec)
	}
	return nil
}

// first returns the time of the first occurrence after now.
func (e Every) first(now time.Time) (time.Time, error) {
	if err := e.check(); err != nil {
		return time.Time{}, err
	}
	if e.Schedule != "" {
		return time.Time{}, invalid("Due is zero (expected: the first occurrence of schedule %q)", e.Schedule)
	}
	spec, _ := clock.ParseSpec(e.Spec) // as check did
	first := spec.Next(now)
	if first.IsZero() {
		return first, invalid("Every.Spec: %q has no occurrence after now", e.Spec)
	}
	return first, nil
}

// encode returns the columns Every and Schedule of a row. The text is the
// fields of Missed and the spec, separated by spaces.
func (e Every) encode() (every, schedule string) {
	if e.isZero() {
		return "", ""
	}
	return fmt.Sprintf("%d %d %s", e.Missed.MaxRuns, int64(e.Missed.MaxLateness), e.Spec), e.Schedule
}

func decodeEvery(every, schedule string) (e Every, err error) {
	if every == "" {
		return e, nil
	}
	parts := strings.SplitN(every, " ", 3)
	if len(parts) != 3 {
		return e, fmt.Errorf("%.64q (expected: three parts)", every)
	}
	_, err = fmt.Sscan(every, &e.Missed.MaxRuns, (*int64)(&e.Missed.MaxLateness))
	e.Spec, e.Schedule = parts[2], schedule
	return e, err
}

// planClaim fills in h.claim, and reports whether the row is to be claimed.
func (w *worker) planClaim(h *held) (ok bool) {
	r := &h.row
	h.claim = backend.Claim{Ref: r.Ref()}
	switch {
	case r.Every == "" || r.Detached || r.Attempt > 1:
		return true
	case r.Schedule == "":
		return w.planNext(h)
	}
	var plan sync.WaitGroup
	plan.Go(func() { ok = w.planNext(h) }) // a Goexit in the user's schedule must not end the caller's
	plan.Wait()
	return ok
}

// planNext is planClaim for a recurring row. If it does not find the next occurrence, it drops
// the row, even if the schedule panics or ends the goroutine.
func (w *worker) planNext(h *held) (ok bool) {
	err := errors.New("the schedule ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schedule panicked: %v", p)
		}
		if ok = err == nil; !ok {
			w.log.Warn("durable: cannot find the next occurrence; the entry waits", "key", h.row.Key, "error", err)
			w.unplanned.Store(true)
			w.drop(h)
		}
	}()
	fires, next, err := w.occurrence(&h.row)
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
// fires in place of the next one: that would be missed, too, if the database took longer to
// return it than the period.
func (w *worker) occurrence(r *backend.Row) (fires, next time.Time, err error) {
	every, err := decodeEvery(r.Every, r.Schedule)
	if err != nil {
		return fires, next, err
	}
	schedule := w.options.Schedules[every.Schedule]
	if every.Spec != "" {
		schedule, err = clock.ParseSpec(every.Spec)
	} else if schedule == nil {
		err = fmt.Errorf("WorkOptions.Schedules has no %q", every.Schedule)
	}
	if err != nil {
		return fires, next, err
	}
	due, now := time.Unix(0, r.Due).UTC(), time.Unix(0, max(w.store.clock.nanos(), r.Due)).UTC()
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
