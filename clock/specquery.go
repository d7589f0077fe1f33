package clock

import (
	"iter"
	"time"
)

// NextN returns the first n times after t, or fewer if s ends before. It takes n calls
// of Next.
func (s *Spec) NextN(t time.Time, n int) (times []time.Time) {
	for ; n > 0; n-- {
		if t = s.Next(t); t.IsZero() {
			break
		}
		times = append(times, t)
	}
	return times
}

// Matches reports whether t is exactly one of the times of s. To ask about the minute of t,
// pass t.Truncate(time.Minute). An "@every" without START matches no time. Matches takes
// one call of Next.
func (s *Spec) Matches(t time.Time) bool {
	return s != nil && s.anchored() && s.Next(t.Add(-1)).Equal(t)
}

// anchored reports whether s has times that do not depend on the argument of Next.
func (s *Spec) anchored() bool { return s.zone != nil && !isElapsed(s) }

// Between returns an iterator over the times of s from begin to end, excluding end. Each
// step takes one call of Next. The times of an "@every" without START begin one period
// after begin.
func (s *Spec) Between(begin, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		t := begin
		if s != nil && s.anchored() {
			t = begin.Add(-1)
		}
		for t = s.Next(t); !t.IsZero() && t.Before(end); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Prev returns the last time before t, in the zone of s, or the zero time if there is no such
// time within 40 years of t or END. For an "@every" without START, that is t minus the period.
// Prev takes up to 70 calls of Next. It does not allocate.
func (s *Spec) Prev(t time.Time) time.Time {
	if s == nil || s.zone == nil || t.Unix() < minUnix {
		return time.Time{}
	}
	if t.Unix() >= maxUnix {
		t = time.Unix(maxUnix, 0)
	}
	l := s.limit()
	if !l.end.IsZero() && t.After(l.end) {
		t = l.end.Add(1)
	}
	if l.every == 0 {
		return s.lastBefore(t)
	}
	if !l.start.IsZero() {
		return s.lastMultiple(t)
	}
	if t = t.Add(-l.every); t.Unix() < minUnix {
		return time.Time{}
	}
	return t.In(s.zone)
}

// lastMultiple is Prev for an "@every" with START.
func (s *Spec) lastMultiple(t time.Time) time.Time {
	next := s.Next(t.Add(-1)) // t or later, unless t is after END
	if next.IsZero() {
		next = s.nextAfter(t.Add(-1))
	}
	if next = next.Add(-s.limits.every); next.Before(s.limits.start) {
		return time.Time{}
	}
	return next.In(s.zone)
}

// lastBefore is Prev for a cron expression. lastBefore looks back in windows of growing
// size until a window has a time, and then halves the window around the last time.
func (s *Spec) lastBefore(t time.Time) time.Time {
	var last time.Time
	window := int64(1)
	for ; window < 2*searchSeconds && last.IsZero(); window *= 2 {
		last = s.before(t.Unix()-min(window, searchSeconds), t)
	}
	if last.IsZero() {
		return last
	}
	for low, high := last.Unix(), t.Unix(); high-low > 1; {
		middle := low + (high-low)/2
		if next := s.before(middle, t); next.IsZero() {
			high = middle
		} else {
			last, low = next, next.Unix()
		}
	}
	if next := s.before(last.Unix(), t); !next.IsZero() {
		last = next
	}
	return last
}

// before returns the first time after the given Unix time, or the zero time if it is not
// before t.
func (s *Spec) before(unix int64, t time.Time) time.Time {
	if start := s.limit().start; !start.IsZero() {
		unix = max(unix, start.Add(-1).Unix())
	}
	next, ok := s.next(max(unix, minUnix-1), t.Unix()+1)
	if at := time.Unix(next, 0); ok && at.Before(t) {
		return at.In(s.zone)
	}
	return time.Time{}
}
