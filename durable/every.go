package durable

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/hashedwheel/hwt/clock"
)

// Missed is the treatment of occurrences of a recurring timer that could not fire
// in time, because no worker ran. An occurrence is missed if the one after it is
// due as well.
type Missed uint8

// The policies for missed occurrences.
const (
	MissedOnce Missed = iota // one of them fires
	MissedSkip               // none of them fires
	MissedAll                // each of them fires, one after another
)

var missedNames = [...]string{MissedOnce: "once", MissedSkip: "skip", MissedAll: "all"}

// String returns the policy's name.
func (m Missed) String() string {
	if int(m) < len(missedNames) {
		return missedNames[m]
	}
	return fmt.Sprintf("Missed(%d)", uint8(m))
}

// Every is how a recurring timer repeats. Exactly one of Spec and Schedule is
// set.
type Every struct {
	// Spec is stored with the timer: "@every 5m", or cron text of five fields such
	// as "30 9 * * 1-5", with a zone if "CRON_TZ=Europe/Berlin " stands before it.
	// Without a zone it is UTC. A time that the zone leaves out as its clocks go
	// forward has no occurrence, and one that it repeats as they go back has two.
	// The times of "@every" are multiples of the period from the first occurrence.
	Spec string

	// Schedule is a name that each worker finds in WorkOptions.Schedules.
	Schedule string

	// Missed is what happens to missed occurrences. The default is MissedOnce.
	Missed Missed
}

func (e Every) isZero() bool { return e == Every{} }

// header returns the text that stands for e in a message: the policy, "spec" or
// "name", and the spec or name.
func (e Every) header() string {
	if e.Spec != "" {
		return e.Missed.String() + " spec " + e.Spec
	}
	return e.Missed.String() + " name " + e.Schedule
}

func parseEvery(text string) (Every, error) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 {
		return Every{}, fmt.Errorf("%d words (expected: at least 3)", len(parts))
	}
	var e Every
	switch parts[1] {
	case "spec":
		e.Spec = parts[2]
	case "name":
		e.Schedule = parts[2]
	default:
		return Every{}, fmt.Errorf("%q (expected: spec or name)", parts[1])
	}
	for missed, name := range missedNames {
		if parts[0] == name {
			e.Missed = Missed(missed)
			return e, nil
		}
	}
	return Every{}, fmt.Errorf("%q (expected: once, skip or all)", parts[0])
}

func (e Every) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	if (e.Spec == "") == (e.Schedule == "") {
		return fail("Every.Spec: %q, Every.Schedule: %q (expected: exactly one of them)", e.Spec, e.Schedule)
	}
	if len(e.Spec)+len(e.Schedule) > 1024 || strings.ContainsAny(e.Spec+e.Schedule, "\r\n") {
		return fail("Every: %.32q (expected: one line of up to 1024 bytes)", e.Spec+e.Schedule)
	}
	if int(e.Missed) >= len(missedNames) {
		return fail("Every.Missed: %d (expected: MissedOnce, MissedSkip or MissedAll)", e.Missed)
	}
	if e.Spec != "" {
		if _, err := parseSpec(e.Spec); err != nil {
			return fail("Every.Spec: %q: %v", e.Spec, err)
		}
	}
	return nil
}

// minPeriod is the shortest "@every".
const minPeriod = time.Second

// period is the schedule of "@every": the next time is counted from the time
// given, which is an occurrence, so that lateness does not add up.
type period time.Duration

func (p period) Next(t time.Time) time.Time { return t.Add(time.Duration(p)) }

func parseSpec(spec string) (clock.Schedule, error) {
	text, ok := strings.CutPrefix(spec, "@every ")
	if !ok {
		if !strings.HasPrefix(spec, "CRON_TZ=") && !strings.HasPrefix(spec, "TZ=") {
			spec = "CRON_TZ=UTC " + spec
		}
		zone, _, ok := strings.Cut(spec, " ")
		if !ok { // the parser panics
			return nil, errors.New("there is nothing behind the zone (expected: a space and five fields)")
		}
		if strings.HasSuffix(zone, "=Local") {
			return nil, errors.New("zone Local is another one in each process (expected: a name such as Europe/Berlin)")
		}
		return cron.ParseStandard(spec)
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if d < minPeriod {
		return nil, fmt.Errorf("period %v (expected: at least %v)", d, minPeriod)
	}
	return period(d), nil
}

// schedule returns the schedule of e, or an error if schedules has not got it.
func (e Every) schedule(schedules map[string]clock.Schedule) (clock.Schedule, error) {
	if e.Spec != "" {
		return parseSpec(e.Spec)
	}
	if s, ok := schedules[e.Schedule]; ok && s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("WorkOptions.Schedules has no %q", e.Schedule)
}

// successor returns the occurrence after the one that was due, and whether that
// one fires. The time is zero if there is none.
func (e Every) successor(s clock.Schedule, due, now time.Time) (next time.Time, fires bool, err error) {
	next, err = nextAfter(s, due)
	if err != nil || next.IsZero() || next.After(now) || e.Missed == MissedAll {
		return next, true, err
	}
	next, err = after(s, next, now)
	return next, e.Missed == MissedOnce, err
}

// nextAfter returns the first occurrence after t, or an error if s, which may be the
// user's, returns one that is not.
func nextAfter(s clock.Schedule, t time.Time) (time.Time, error) {
	next := s.Next(t)
	if !next.IsZero() && !next.After(t) {
		return next, fmt.Errorf("the schedule returned %v (expected: after %v)", next, t)
	}
	return next, nil
}

// after returns the first occurrence after now. One period at a time would take
// long after a long outage.
func after(s clock.Schedule, next, now time.Time) (time.Time, error) {
	if p, ok := s.(period); ok {
		missed := now.Sub(next) / time.Duration(p)
		next = next.Add((missed + 1) * time.Duration(p))
		return next, nil
	}
	return nextAfter(s, now)
}
