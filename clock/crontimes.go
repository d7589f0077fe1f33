package clock

import (
	"math"
	"time"
)

// cron is a cron expression. Its methods count seconds since 1970 on a wall clock,
// as if that showed UTC.
type cron struct {
	second, minute, hour, day, month, weekday set
}

// fixedHours reports whether the hour field has no wildcard.
func (c *cron) fixedHours() bool { return c.hour&star == 0 }

const secondsPerDay = 24 * 60 * 60

// ceil returns the first match that is at least from and less than limit.
func (c *cron) ceil(from, limit int64) (match int64, ok bool) {
	day := floorDiv(from, secondsPerDay)
	if c.matchesDay(day) {
		if inDay, ok := c.ceilInDay(int(from - day*secondsPerDay)); ok {
			match = day*secondsPerDay + int64(inDay)
			return match, match < limit
		}
	}
	first, _ := c.ceilInDay(0)
	for day++; day*secondsPerDay < limit; day = c.nextDay(day) {
		if c.matchesDay(day) {
			match = day*secondsPerDay + int64(first)
			return match, match < limit
		}
	}
	return 0, false
}

// ceilInDay returns the first matching second of a day that is at least from.
func (c *cron) ceilInDay(from int) (int, bool) {
	firstSecond, _ := c.second.ceil(0)
	firstMinute, _ := c.minute.ceil(0)
	second, wraps := c.second.ceil(from % 60)
	minute := from / 60 % 60
	if wraps {
		minute++
	}
	next, wraps := c.minute.ceil(minute)
	if next != minute {
		second = firstSecond
	}
	minute = next
	hour := from / 3600
	if wraps {
		hour++
	}
	if next, wraps = c.hour.ceil(hour); next != hour {
		second, minute = firstSecond, firstMinute
	}
	return (next*60+minute)*60 + second, !wraps
}

// nextDay returns the day after day, or the first of the next month that matches if
// the month of day does not match.
func (c *cron) nextDay(day int64) int64 {
	year, month, _ := date(day)
	if c.month.has(int(month)) {
		return day + 1
	}
	next, wraps := c.month.ceil(int(month))
	if wraps {
		year++
	}
	return time.Date(year, time.Month(next), 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
}

// matchesDay reports whether the fields for day, month and weekday match. If neither
// the day nor the weekday is a wildcard, one of them suffices.
func (c *cron) matchesDay(day int64) bool {
	_, month, monthDay := date(day)
	if !c.month.has(int(month)) {
		return false
	}
	byDay, byWeekday := c.day.has(monthDay), c.weekday.has(int((day%7+11)%7)) // 1970 began on a Thursday.
	if (c.day|c.weekday)&star != 0 {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

func date(day int64) (int, time.Month, int) { return time.Unix(day*secondsPerDay, 0).UTC().Date() }

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}

// zoneRun is a period in which a zone's clocks differ from UTC by a constant.
type zoneRun struct {
	begin, end int64 // Unix seconds. end is exclusive.
	offset     int64 // The wall clock shows the Unix time plus offset.
}

func zoneRunAt(zone *time.Location, unix int64) zoneRun {
	t := time.Unix(unix, 0).In(zone)
	_, offset := t.Zone()
	run := zoneRun{math.MinInt64 / 2, math.MaxInt64 / 2, int64(offset)}
	begin, end := t.ZoneBounds()
	if !begin.IsZero() {
		run.begin = begin.Unix()
	}
	if !end.IsZero() {
		run.end = end.Unix()
	}
	if run.end <= unix { // ZoneBounds gives leap years 365 days beyond the zone's table, so it errs on 31 December.
		run.end = (floorDiv(unix, secondsPerDay) + 1) * secondsPerDay
	}
	return run
}

// The longest time that clocks were ever set forward or back is a day, when a zone
// crossed the date line.
const lookBack = 2 * secondsPerDay

// maxRuns bounds a search. No zone has had as many changes within searchSeconds.
const maxRuns = 2000

// next returns the first time after the given one, in Unix seconds, and before limit.
// It walks through the periods of the zone in order and keeps the highest time that
// the wall clock has shown: a period that begins above it follows a gap, and one that
// begins below it repeats times.
func (s *Spec) next(after, limit int64) (int64, bool) {
	run := zoneRunAt(s.zone, after-lookBack)
	high := run.begin + run.offset
	for range maxRuns {
		begin := run.begin + run.offset
		if s.cron.fixedHours() && !s.skipGap && high < begin && run.begin > after {
			if _, ok := s.cron.ceil(high, begin); ok {
				return run.begin, true
			}
		}
		from := max(after+1, run.begin) + run.offset
		if s.cron.fixedHours() && !s.repeat {
			from = max(from, high)
		}
		if match, ok := s.cron.ceil(from, min(run.end, limit)+run.offset); ok {
			return match - run.offset, true
		}
		if run.end >= limit {
			return 0, false
		}
		high = max(high, run.end+run.offset)
		changed := run.end
		run = zoneRunAt(s.zone, changed)
		run.begin = changed
	}
	return 0, false
}
