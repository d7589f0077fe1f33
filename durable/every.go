package durable

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/clock"
)

// Every is a recurrence. Exactly one of Spec and Schedule is set. It is stored with the
// entry.
type Every struct {
	// Spec is the text of a [clock.Spec] without JITTER, such as "@every 5m" or
	// "CRON_TZ=Europe/Berlin 30 9 * * 1-5". Without CRON_TZ it is in UTC. The times of "@every" are multiples of the
	// period after the first occurrence.
	Spec string

	// Schedule is a name that workers look up in WorkOptions.Schedules.
	Schedule string

	// Overlap is the treatment of an occurrence that is due while a handler of the series runs, in any
	// worker. By default, it is skipped. With clock.OverlapQueueOne, one occurrence waits and
	// fires afterwards; if more were due, Missed says which fire. With clock.OverlapParallel, it fires. A waiting retry does not count as running.
	Overlap clock.Overlap

	// Missed is the treatment of occurrences that were due while no worker ran. By
	// default, the last of them fires late, and the others are skipped. MaxRuns 3 fires the last three, and
	// MaxLateness skips those that are later. Occurrences less
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
	if e.Overlap > clock.OverlapParallel {
		return invalid("Every.Overlap: %d (expected: OverlapSkip, OverlapQueueOne, or OverlapParallel)", e.Overlap)
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
// fields of Missed and the spec, separated by spaces. An Overlap other than the default follows the
// first of them after a colon.
func (e Every) encode() (every, schedule string) {
	if e.isZero() {
		return "", ""
	}
	overlap := ""
	if e.Overlap != clock.OverlapSkip {
		overlap = fmt.Sprint(":", e.Overlap)
	}
	return fmt.Sprintf("%d%s %d %s", e.Missed.MaxRuns, overlap, int64(e.Missed.MaxLateness), e.Spec), e.Schedule
}

func decodeEvery(every, schedule string) (e Every, err error) {
	if every == "" {
		return e, nil
	}
	parts := strings.SplitN(every, " ", 3)
	if len(parts) != 3 {
		return e, fmt.Errorf("%.64q (expected: three parts)", every)
	}
	runs, overlap, found := strings.Cut(parts[0], ":")
	if found {
		_, err = fmt.Sscan(overlap, &e.Overlap)
	}
	_, err2 := fmt.Sscan(runs+" "+parts[1], &e.Missed.MaxRuns, (*int64)(&e.Missed.MaxLateness))
	err = cmp.Or(err, err2)
	e.Spec, e.Schedule = parts[2], schedule
	return e, err
}
