package cron

import (
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/clock"
)

// ConstantDelaySchedule is a schedule with one time per Delay.
type ConstantDelaySchedule struct{ Delay time.Duration }

// Every returns a schedule with one time per duration, in whole seconds and at least one.
func Every(duration time.Duration) ConstantDelaySchedule {
	return ConstantDelaySchedule{max(duration.Truncate(time.Second), time.Second)}
}

// Next returns the time one Delay after the second of t.
func (schedule ConstantDelaySchedule) Next(t time.Time) time.Time {
	return t.Add(schedule.Delay - time.Duration(t.Nanosecond()))
}

// SpecSchedule is a cron expression. Bit n of a field is the value n, and bit 63 a
// wildcard.
type SpecSchedule struct {
	Second, Minute, Hour, Dom, Month, Dow uint64

	// Location is the time zone. time.Local stands for the zone of the argument of Next.
	Location *time.Location
}

// starBit marks a field with a wildcard.
const starBit = 1 << 63

// bounds are the values of a field.
type bounds struct {
	min, max uint
	names    map[string]uint
}

var (
	seconds = bounds{0, 59, nil}
	minutes = bounds{0, 59, nil}
	hours   = bounds{0, 23, nil}
	dom     = bounds{1, 31, nil}
	months  = bounds{1, 12, numbered(1, "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")}
	dow     = bounds{0, 6, numbered(0, "sun", "mon", "tue", "wed", "thu", "fri", "sat")}
)

func numbered(first uint, names ...string) map[string]uint {
	numbers := map[string]uint{}
	for i, name := range names {
		numbers[name] = first + uint(i)
	}
	return numbers
}

// Next returns the first time after t, in the zone of t, or the zero time if the schedule ends.
// It takes about ten microseconds.
func (s *SpecSchedule) Next(t time.Time) time.Time {
	spec := s.spec(t.Location())
	if spec == nil {
		return time.Time{}
	}
	next := spec.Next(t)
	if next.IsZero() {
		return next
	}
	return next.In(t.Location())
}

// spec returns s as a clock.Spec, or nil if s has no time. local replaces a zone of
// time.Local.
func (s *SpecSchedule) spec(local *time.Location) *clock.Spec {
	fields := []uint64{s.Second, s.Minute, s.Hour, s.Dom, s.Month, s.Dow}
	if day, weekday := &fields[3], &fields[5]; (*day|*weekday)&starBit == 0 { // One of them suffices.
		if *weekday == 0 {
			*weekday = starBit
		} else if *day == 0 {
			*day = starBit
		}
	}
	var words []string
	for i, bits := range fields {
		word := text(bits, ranges[i])
		if word == "" {
			return nil
		}
		words = append(words, word)
	}
	spec, err := clock.ParseSpec(strings.Join(words, " "))
	if err != nil {
		return nil
	}
	zone := s.Location
	if zone == nil || zone == time.Local {
		zone = local
	}
	return spec.In(zone)
}

// text returns the values of a field as text.
func text(bits uint64, r bounds) string {
	if bits&starBit != 0 {
		return "*"
	}
	var values []string
	for v := r.min; v <= r.max; v++ {
		if bits>>v&1 != 0 {
			values = append(values, strconv.Itoa(int(v)))
		}
	}
	for step := uint(2); step <= r.max && len(values) > 2; step++ {
		if bits == getBits(r.min, r.max, step) {
			return "*/" + strconv.Itoa(int(step))
		}
	}
	return strings.Join(values, ",")
}
