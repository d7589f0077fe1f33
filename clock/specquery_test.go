package clock_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQueriesAgreeWithNext compares Prev, Matches and Between with the times of Next.
func TestQueriesAgreeWithNext(t *testing.T) {
	for _, text := range []string{
		"* * * * * *", "*/7 3 * * *", "CRON_TZ=Europe/Berlin 0,30 2 * * *", "CRON_TZ=Europe/Berlin REPEAT 30 2 * * *",
		"CRON_TZ=America/New_York */20 1-2 * 3,11 *", "0 0 29 2 *", "0 12 LW * 5#1", "EVERY=3w START=2026-11-23T00:00:00Z 0 9 * * 1,3",
		"START=2026-11-23T00:00:00.5Z @every 90m", "START=2027-01-01T00:00:00.5Z END=2027-01-03T12:00:00Z 0 */5 * * *",
	} {
		t.Run(text, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			spec := newSpec(t, text)
			begin := instant(t, "2026-11-23T00:00:00Z").Add(time.Duration(random.Int64N(int64(365 * 24 * time.Hour))))
			if first := spec.Next(begin); first.IsZero() {
				begin = instant(t, "2026-12-31T00:00:00Z")
			}
			times := spec.NextN(begin, 50)
			require.NotEmpty(t, times)
			last := times[len(times)-1]
			assert.Equal(t, times, slices.Collect(spec.Between(begin.Add(1), last.Add(1))))
			assert.Equal(t, times[:len(times)-1], slices.Collect(spec.Between(times[0], last)))
			for i, at := range times {
				assert.True(t, spec.Matches(at))
				assert.False(t, spec.Matches(at.Add(1)))
				assert.Equal(t, at, spec.Prev(at.Add(1)))
				if i > 0 {
					assert.Equal(t, times[i-1], spec.Prev(at))
					between := times[i-1].Add(1 + time.Duration(random.Int64N(int64(at.Sub(times[i-1])))))
					assert.Equal(t, times[i-1], spec.Prev(between))
				}
			}
		})
	}
}

// TestBetweenFromTheZeroTime finds that no time of a Spec is the zero time, which means none.
func TestBetweenFromTheZeroTime(t *testing.T) {
	spec := newSpec(t, "0 0 * * *")
	first := instant(t, "0001-01-02T00:00:00Z")
	for name, begin := range map[string]time.Time{"zero": {}, "before": time.Time{}.Add(-1), "first": first} {
		t.Run(name, func(t *testing.T) {
			times := slices.Collect(spec.Between(begin, first.Add(36*time.Hour)))
			assert.Equal(t, []time.Time{first, first.Add(24 * time.Hour)}, times)
		})
	}
	assert.Zero(t, spec.Prev(first))
}

func TestPrevEndsAtTheLimitsOfASpec(t *testing.T) {
	for name, c := range map[string]struct{ spec, before, want string }{
		"before START":           {"START=2026-12-01T00:00:00Z 0 9 * * *", "2026-12-01T09:00:00Z", ""},
		"at START":               {"START=2026-12-01T09:00:00Z 0 9 * * *", "2026-12-01T09:00:01Z", "2026-12-01T09:00:00Z"},
		"after END":              {"END=2026-12-01T12:00:00Z 0 9 * * *", "2027-12-01T09:00:00Z", "2026-12-01T09:00:00Z"},
		"at END":                 {"END=2026-12-01T09:00:00Z 0 9 * * *", "2027-12-01T09:00:00Z", "2026-12-01T09:00:00Z"},
		"elapsed, after END":     {"START=2026-12-01T00:00:00Z END=2026-12-01T12:30:00Z @every 1h", "2027-01-01T00:00:00Z", "2026-12-01T12:00:00Z"},
		"elapsed, START":         {"START=2026-12-01T00:00:00Z @every 1h", "2026-12-01T00:00:00.1Z", "2026-12-01T00:00:00Z"},
		"elapsed, before START":  {"START=2026-12-01T00:00:00Z @every 1h", "2026-12-01T00:00:00Z", ""},
		"elapsed, without START": {"@every 1h", "2026-12-01T00:00:00.25Z", "2026-11-30T23:00:00.25Z"},
		"rare":                   {"0 0 29 2 *", "2104-02-29T00:00:00Z", "2096-02-29T00:00:00Z"},
		"across a repeated time": {"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T01:31:00Z", "2026-10-25T02:30:00+02:00"},
		"the end of a gap":       {"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-29T12:00:00Z", "2026-03-29T03:00:00+02:00"},
		"first second of a gap":  {"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-29T01:00:00.1Z", "2026-03-29T03:00:00+02:00"},
		"the last day of a year": {"CRON_TZ=Europe/Berlin 0 0 1 1 *", "2041-06-01T00:00:00Z", "2041-01-01T00:00:00+01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newSpec(t, c.spec).Prev(instant(t, c.before))
			if c.want == "" {
				assert.True(t, got.IsZero(), got)
				return
			}
			assert.Equal(t, c.want, got.Format(time.RFC3339Nano))
		})
	}
}

func TestPrevOfAnAbsurdTimeReturns(t *testing.T) {
	for _, text := range []string{"0 0 29 2 *", "@every 1h", "START=0002-01-01T00:00:00Z @every 1s"} {
		t.Run(text, func(t *testing.T) {
			spec := newSpec(t, text)
			for _, unix := range []int64{-1 << 63, -1 << 62, -62167219200, 253402300800, 1 << 62} {
				at := time.Unix(unix, 0)
				prev := spec.Prev(at)
				assert.True(t, prev.IsZero() || prev.Before(at), "%v before %d", prev, unix)
			}
		})
	}
}

// TestSpecialDaysOfALifetime compares the days of special elements with a plain count.
func TestSpecialDaysOfALifetime(t *testing.T) {
	workday := func(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }
	for text, of := range map[string]func(first time.Time) (days []int){
		"0 0 L * *": func(first time.Time) []int { return []int{first.AddDate(0, 1, -1).Day()} },
		"0 0 LW * *": func(first time.Time) []int {
			d := first.AddDate(0, 1, -1)
			for !workday(d) {
				d = d.AddDate(0, 0, -1)
			}
			return []int{d.Day()}
		},
		"0 0 1W * *":  nearest(1, workday),
		"0 0 15W * *": nearest(15, workday),
		"0 0 30W * *": nearest(30, workday),
		"0 0 31W * *": nearest(31, workday),
		"0 0 * * 2L": func(first time.Time) []int {
			d := first.AddDate(0, 1, -1)
			for d.Weekday() != time.Tuesday {
				d = d.AddDate(0, 0, -1)
			}
			return []int{d.Day()}
		},
		"0 0 * * 6#5": func(first time.Time) (days []int) {
			count := 0
			for d := first; d.Month() == first.Month(); d = d.AddDate(0, 0, 1) {
				if d.Weekday() == time.Saturday {
					if count++; count == 5 {
						days = append(days, d.Day())
					}
				}
			}
			return days
		},
	} {
		t.Run(text, func(t *testing.T) {
			at, spec := instant(t, "1969-12-31T12:00:00Z"), newSpec(t, text)
			for month := range 12 * 80 {
				first := time.Date(1970, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC)
				for _, day := range of(first) {
					at = spec.Next(at)
					require.Equal(t, first.AddDate(0, 0, day-1), at)
				}
			}
		})
	}
}

// nearest returns the workday of a month that has the least distance from a day, if the
// month has that day.
func nearest(day int, workday func(time.Time) bool) func(first time.Time) []int {
	return func(first time.Time) []int {
		from := first.AddDate(0, 0, day-1)
		if from.Month() != first.Month() {
			return nil
		}
		for distance := range 4 {
			for _, d := range []time.Time{from.AddDate(0, 0, -distance), from.AddDate(0, 0, distance)} {
				if d.Month() == first.Month() && workday(d) {
					return []int{d.Day()}
				}
			}
		}
		return nil
	}
}
