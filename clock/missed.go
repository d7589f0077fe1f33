package clock

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Missed is the treatment of runs that are due together, because the process was paused,
// the machine slept, or the wall clock was set forward. With the zero value, only the last
// missed run happens, however late. A MaxLateness of a few ticks skips missed runs, and a
// large MaxRuns makes up for all missed runs.
type Missed struct {
	// MaxRuns is the maximum number of missed runs that happen, one after another. The most
	// recent runs happen; the others are skipped. The default, 0, is 1; the range is 1 to
	// 10,000.
	MaxRuns int

	// MaxLateness is the lateness beyond which a run is skipped, even a single one. Runs
	// are up to one tick of the timer late, so a limit below the tick skips most of them;
	// [JobStatus] does not count these. The default, 0, means no limit. A negative value is
	// an error.
	MaxLateness time.Duration
}

const maxMissed = 10_000

// Validate returns an error if a field is out of its range.
func (m Missed) Validate() error {
	switch {
	case m.MaxRuns < 0 || m.MaxRuns > maxMissed:
		return check.Errorf("clock: Missed.MaxRuns: %d (expected: 0 for the default, or 1 to %d)", m.MaxRuns, maxMissed)
	case m.MaxLateness < 0:
		return check.Errorf("clock: Missed.MaxLateness: %v (expected: 0 for no limit, or more)", m.MaxLateness)
	}
	return nil
}

// Plan decides about a run that was due at the given time, and about the later runs that are
// due by now. Plan returns the due times of the runs to begin now, in order, and the time of
// the next run. That time is zero if the schedule ends.
//
// The runs after the first may also be made up for later: Plan(s, runs[1], now) returns
// runs[1:].
//
// Plan calls s.Next once if only one run is due. Otherwise Plan makes up to 60 calls, and a few
// for each run if times are spread evenly. More calls are necessary if times were dense long
// before now: 86,400 for a day with a time per second. After a million calls, Plan returns the
// runs found so far, possibly fewer than MaxRuns. If s.Next returns a time that is not after
// the argument, next may be a time that is not after now.
func (m Missed) Plan(s Schedule, due, now time.Time) (runs []time.Time, next time.Time) {
	runs = []time.Time{due}
	if next = s.Next(due); !next.IsZero() && !next.After(now) {
		s = anchored(s, due)
		runs, next = recent(s, due, now, max(m.MaxRuns, 1)), s.Next(now)
	}
	for len(runs) > 0 && m.skips(runs[0], now) {
		runs = runs[1:]
	}
	return runs, next
}

// skips reports whether a run that was due at the given time is too late to begin.
func (m Missed) skips(due, now time.Time) bool {
	return m.MaxLateness > 0 && now.Sub(due) > m.MaxLateness
}

// anchored returns s, or, for an "@every" that counts from the argument of Next, a
// schedule of the same period that counts from due.
func anchored(s Schedule, due time.Time) Schedule {
	if !isElapsed(s) {
		return s
	}
	anchored := *s.(*Spec)
	from := *anchored.limits
	from.start = due
	anchored.limits = &from
	return &anchored
}

// maxCalls bounds the calls of Next for the runs that are due together.
const maxCalls = 1_000_000

// recent returns the last n times of s from due to now, or all if fewer exist. due is the
// first time. recent looks back from now in windows of growing size, so that the calls of
// Next do not grow with the number of times. If the calls reach maxCalls, the times of the
// last complete window remain.
func recent(s Schedule, due, now time.Time, n int) (times []time.Time) {
	calls := 0
	for window := time.Microsecond; ; window *= 2 {
		t := now.Add(-window)
		var within []time.Time
		whole := window > math.MaxInt64/2 || !t.After(due)
		if whole {
			t, within = due, append(within, due)
		}
		for next := s.Next(t); next.After(t) && !next.After(now); next = s.Next(t) {
			if calls++; calls == maxCalls {
				return append(times, due)[:max(1, len(times))]
			}
			if len(within) == 2*n {
				within = append(within[:0], within[n:]...)
			}
			t, within = next, append(within, next)
		}
		if times = within[max(0, len(within)-n):]; whole || len(times) >= n {
			return times
		}
	}
}
