package clock

import (
	"math"
	"time"
)

// cron is a cron expression. A cron is packed, because a program may hold very many. The
// methods count seconds since 1970 on a wall clock, as if the clock showed UTC.
type cron struct {
	second, minute  set
	nearest         set    // Bit n: nW. Bit lastDay: L. Bit lastWorkday: LW.
	nth             set    // Bit 7k+d: d#k. Bit d: dL.
	hour, day       uint32 // Sets.
	month           uint16 // A set.
	weekday         uint8  // A set.
	stars           uint8  // Bit i: field i of cronFields has the star.
	skipGap, repeat bool
}

const (
	lastDay     = 32
	lastWorkday = 33
)

// restricted reports whether field i has no wildcard.
func (c *cron) restricted(i int) bool { return c.stars>>i&1 == 0 }

// fixedHours reports whether the hour field has no wildcard.
func (c *cron) fixedHours() bool { return c.restricted(hourField) }

// sets returns the fields in the order of cronFields.
func (c *cron) sets() [len(cronFields)]set {
	all := [...]set{c.second, c.minute, set(c.hour), set(c.day), set(c.month), set(c.weekday)}
	for i := range all {
		if !c.restricted(i) {
			all[i] |= star
		}
	}
	return all
}

// pack stores the fields in the order of cronFields.
func (c *cron) pack(all [len(cronFields)]set) {
	for i, s := range all {
		if s&star != 0 {
			c.stars |= 1 << i
		}
		all[i] &^= star
	}
	c.second, c.minute, c.hour = all[0], all[1], uint32(all[hourField])
	c.day, c.month, c.weekday = uint32(all[dayField]), uint16(all[4]), uint8(all[weekdayField])
}

const secondsPerDay = 24 * 60 * 60

// ceil returns the first match that is at least from and less than limit, on a day that
// the interval has.
func (c *cron) ceil(from, limit int64, every interval) (match int64, ok bool) {
	day := floorDiv(from, secondsPerDay)
	if every.has(day) && c.matchesDay(day) {
		if inDay, ok := c.ceilInDay(int(from - day*secondsPerDay)); ok {
			match = day*secondsPerDay + int64(inDay)
			return match, match < limit
		}
	}
	first, _ := c.ceilInDay(0)
	for day++; day*secondsPerDay < limit; day = c.nextDay(day) {
		if every.has(day) && c.matchesDay(day) {
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
	if next, wraps = set(c.hour).ceil(hour); next != hour {
		second, minute = firstSecond, firstMinute
	}
	return (next*60+minute)*60 + second, !wraps
}

// nextDay returns the day after day, or the first of the next month that matches if
// the month of day does not match.
func (c *cron) nextDay(day int64) int64 {
	year, month, _ := date(day)
	if set(c.month).has(int(month)) {
		return day + 1
	}
	next, wraps := set(c.month).ceil(int(month))
	if wraps {
		year++
	}
	return time.Date(year, time.Month(next), 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
}

// matchesDay reports whether the fields for day, month and weekday match. If neither
// the day nor the weekday is a wildcard, one of them suffices.
func (c *cron) matchesDay(day int64) bool {
	year, month, monthDay := date(day)
	if !set(c.month).has(int(month)) {
		return false
	}
	weekday := int((day%7 + 11) % 7) // 1970 began on a Thursday.
	byDay, byWeekday := set(c.day).has(monthDay), set(c.weekday).has(weekday)
	if c.nearest|c.nth != 0 {
		last := daysIn(year, month)
		byDay = byDay || c.nearest.hasNearest(monthDay, weekday, last)
		byWeekday = byWeekday || c.nth.has(7*((monthDay+6)/7)+weekday) || monthDay+7 > last && c.nth.has(weekday)
	}
	if !c.restricted(dayField) || !c.restricted(weekdayField) {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

// hasNearest reports whether a day of a month of last days is in s. s has bits as cron.nearest.
func (s set) hasNearest(day, weekday, last int) bool {
	workday := weekday != 0 && weekday != 6
	switch {
	case day == last && s.has(lastDay):
		return true
	case !workday || s == 0:
		return false
	case s.has(lastWorkday) && (day == last || weekday == 5 && day+2 >= last):
		return true
	case s.has(day) || weekday == 1 && s.has(day-1) && day > 1:
		return true
	case weekday == 5 && day < last: // the Saturday, and the Sunday that ends a month
		return s.has(day+1) || day+2 == last && s.has(last)
	}
	return weekday == 1 && day == 3 && s.has(1) // the Saturday that begins a month
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// interval is the choice of every nth day or week. The zero interval has all days.
type interval struct {
	n      int64 // Days or weeks; 0 for all.
	days   int64 // 1 for days, 7 for weeks.
	anchor int64 // The first day, since 1970; of weeks, a Monday.
}

// has reports whether a day, counted from 1970, is in the interval.
func (v interval) has(day int64) bool {
	return v.n == 0 || floorDiv(day-v.anchor, v.days)%v.n == 0
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

// next returns the first time after the given one, in Unix seconds, and before limit. next
// walks through the periods of the zone in order and keeps the highest time that the wall
// clock has shown: a period that begins above that time follows a gap, and a period that
// begins below it repeats times.
func (s *Spec) next(after, limit int64) (int64, bool) {
	run := zoneRunAt(s.zone, after-lookBack)
	high := run.begin + run.offset
	every := s.limit().interval
	for range maxRuns {
		begin := run.begin + run.offset
		if s.fixedHours() && !s.skipGap && high < begin && run.begin > after {
			if _, ok := s.ceil(high, begin, every); ok {
				return run.begin, true
			}
		}
		from := max(after+1, run.begin) + run.offset
		if s.fixedHours() && !s.repeat {
			from = max(from, high)
		}
		if match, ok := s.ceil(from, min(run.end, limit)+run.offset, every); ok {
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
