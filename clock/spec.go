package clock

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// Spec is a [Schedule] that is written as text. [ParseSpec] creates one.
//
// The text is a cron expression of five fields, or six if it begins with seconds:
//
//	field           values       names
//	second          0 to 59
//	minute          0 to 59
//	hour            0 to 23
//	day of month    1 to 31
//	month           1 to 12      jan to dec, january to december
//	day of week     0 to 7       sun to sat, sunday to saturday; 0 and 7 are Sunday
//
// A field is a list, separated by commas, of "*" or "?" for all values, single values
// and ranges such as "1-5" or "sat-sun". A step such as "*/15" or "10-30/5" selects every
// nth value; "10/5" starts at 10 and ends at the last value. "@yearly", "@annually",
// "@monthly", "@weekly", "@daily", "@midnight" and "@hourly" stand for the first minute of
// such a period. Upper and lower case are equal in the names and in these elements:
//
//	L       in day of month: the last day of the month
//	LW      in day of month: the last day from Monday to Friday
//	15W     in day of month: the day from Monday to Friday nearest to the 15th, in the same
//	        month; there is no such day in a month without that date
//	5L      in day of week: the last Friday of the month; also friL
//	5#3     in day of week: the third Friday of the month; also fri#3
//
// If both the day of month and the day of week are restricted, a day must match only one of
// both. Any field other than "*", "?" and "*/1" is restricted. Vixie cron differs: there, a
// day must match both fields if one of them begins with "*", such as "*/2".
//
// "@every 90m" is a period of at least a second. Its times are multiples of the period of
// elapsed time after START, or, without START, one period after the time passed to Next.
//
// These options may precede the expression, separated by spaces:
//
//	CRON_TZ=Europe/Berlin         the time zone, UTC by default; also TZ=
//	SKIP_GAP                      skip times that the zone leaves out
//	REPEAT                        run twice at times that the zone repeats
//	EVERY=2w                      only every 2nd week, which begins on Monday, or, with
//	                              EVERY=3d, every 3rd day, from that of START, which it
//	                              needs; 1 to 1000, in the time zone
//	START=2027-01-01T00:00:00Z    the earliest time: RFC 3339, years 2 to 9999
//	END=2027-12-31T23:59:59Z      the last time
//	JITTER=30s                    a random delay of less than this
//
// # Daylight saving time
//
// If a time does not exist because clocks are set forward, the run is at the end of the
// gap, once for all times in the gap; with SKIP_GAP, the run is skipped. If clocks are set
// back and show a time twice, the run is at the first; with REPEAT, runs are at both. If
// the hour field has a wildcard, such as "*" or "*/2", neither applies: there is a run
// whenever the clock shows a matching time. Therefore "*/5 * * * *" runs every five minutes
// of elapsed time.
//
// "START=2027-01-04T00:00:00Z EVERY=2w 0 9 * * 1" is 9 o'clock on every other Monday. At
// a change of the clocks it remains 9 o'clock, unlike the times of "@every 336h".
//
// A nil or zero Spec has no times, and a zero Spec has no text. A Spec may be copied, and
// the text is also the JSON, by value and by pointer. A Spec is safe for concurrent use,
// except for UnmarshalText. Next does not allocate, and takes about a microsecond for daily
// times, and up to 500 for times that are years apart.
type Spec struct {
	cron                  // Unless every is set.
	zone   *time.Location // Nil for the zero Spec.
	limits *limits        // Nil for none. Immutable.
}

// limits are the parts of a Spec that few have.
type limits struct {
	every      time.Duration // The period of "@every", or 0.
	jitter     time.Duration
	start, end time.Time // Zero if there is no limit.
	interval   interval
}

var noLimits limits

// limit returns the limits of s.
func (s *Spec) limit() *limits {
	if s.limits == nil {
		return &noLimits
	}
	return s.limits
}

// In returns a copy of s with another time zone. The zone need not be in the IANA database. The
// text of such a zone, such as [time.Local], is not one for [ParseSpec]. EVERY counts from the
// day or week of START in the new zone. In panics if zone is nil.
func (s *Spec) In(zone *time.Location) *Spec {
	if zone == nil {
		panic("clock: Spec.In: zone is nil (expected: a time zone)")
	}
	other := *s
	if s.zone != nil {
		other.zone = zone
	}
	if s.limit().interval.n > 0 {
		own := *s.limits
		other.limits = &own
		other.setAnchor()
	}
	return &other
}

// searchSeconds is the limit of a search. The longest distance between two days that
// an expression can name is eight years, from one 29 February to another.
const searchSeconds = 40 * 366 * secondsPerDay

// A Spec has times from the second after the zero time, which means none, to the year 9999.
const (
	minUnix = -62135596799
	maxUnix = 253402300800
)

// Next returns the first time after t, in the zone of s, or the zero time if no time comes within
// 40 years of t or START. Times are in the years 1 to 9999, after the zero time. Next ignores
// JITTER, which a [Job] adds: see [Spec.Delay].
func (s *Spec) Next(t time.Time) time.Time {
	if s == nil || s.zone == nil || t.Unix() >= maxUnix {
		return time.Time{}
	}
	if t.Unix() < minUnix {
		t = time.Unix(minUnix, -1)
	}
	l := s.limit()
	if !l.start.IsZero() && t.Before(l.start) {
		t = l.start.Add(-1)
	}
	next := s.nextAfter(t)
	if next.IsZero() || next.Unix() >= maxUnix || !l.end.IsZero() && next.After(l.end) {
		return time.Time{}
	}
	return next.In(s.zone)
}

// nextAfter is Next without the limits.
func (s *Spec) nextAfter(t time.Time) time.Time {
	l := s.limit()
	switch {
	case l.every == 0:
		next, ok := s.next(t.Unix(), min(t.Unix()+searchSeconds, maxUnix))
		if !ok {
			return time.Time{}
		}
		return time.Unix(next, 0)
	case l.start.IsZero():
		return t.Add(l.every)
	}
	next := l.start
	for !next.After(t) { // At most 36 times: Sub returns at most 292 years, and t is before the year 10,000.
		next = next.Add(max(1, t.Sub(next)/l.every) * l.every)
	}
	return next
}

// Delay returns a random delay, less than JITTER, for the run that is due at the given
// time. The run is not delayed beyond END. Without JITTER, Delay returns 0.
func (s *Spec) Delay(due time.Time) time.Duration {
	if s == nil || s.limit().jitter == 0 {
		return 0
	}
	limit := s.limits.jitter
	if end := s.limits.end; !end.IsZero() {
		limit = min(limit-1, end.Sub(due)) + 1 // Sub may return the longest duration.
	}
	if limit <= 0 {
		return 0
	}
	return hwt.Jitter(limit-1, 1)
}
