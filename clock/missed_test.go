package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/clock"
)

// seconds returns times as seconds after the given one.
func seconds(since time.Time, times ...time.Time) (all []int) {
	for _, t := range times {
		all = append(all, int(t.Sub(since)/time.Second))
	}
	return all
}

func TestPlan(t *testing.T) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	minutely, relative := newSpec(t, "* * * * *"), newSpec(t, "@every 1m")
	once := at{start, []time.Duration{0, time.Minute}}
	for name, c := range map[string]struct {
		missed   clock.Missed
		schedule clock.Schedule
		late     time.Duration
		runs     []int // Seconds after start.
		next     int   // Seconds after start; -1 for none.
	}{
		"on time":                    {clock.Missed{}, minutely, 0, []int{0}, 60},
		"late":                       {clock.Missed{}, minutely, 59 * time.Second, []int{0}, 60},
		"the next is due":            {clock.Missed{}, minutely, 60 * time.Second, []int{60}, 120},
		"skip":                       {clock.Missed{}, minutely, 200 * time.Second, []int{180}, 240},
		"skip if too late":           {clock.Missed{MaxLateness: 19 * time.Second}, minutely, 200 * time.Second, nil, 240},
		"skip one if too late":       {clock.Missed{MaxLateness: time.Second}, minutely, 2 * time.Second, nil, 60},
		"late, but not too late":     {clock.Missed{MaxLateness: 20 * time.Second}, minutely, 200 * time.Second, []int{180}, 240},
		"all":                        {clock.Missed{MaxRuns: 10_000}, minutely, 200 * time.Second, []int{0, 60, 120, 180}, 240},
		"all that are not too late":  {clock.Missed{MaxRuns: 4, MaxLateness: 140 * time.Second}, minutely, 200 * time.Second, []int{60, 120, 180}, 240},
		"all too late":               {clock.Missed{MaxRuns: 4, MaxLateness: 19 * time.Second}, minutely, 200 * time.Second, nil, 240},
		"all up to a limit":          {clock.Missed{MaxRuns: 2}, minutely, 200 * time.Second, []int{120, 180}, 240},
		"relative, skip":             {clock.Missed{}, relative, 200 * time.Second, []int{180}, 240},
		"relative, all":              {clock.Missed{MaxRuns: 3}, relative, 200 * time.Second, []int{60, 120, 180}, 240},
		"the last run of a schedule": {clock.Missed{}, once, 200 * time.Second, []int{60}, -1},
		"a schedule of the past":     {clock.Missed{MaxRuns: 4}, &answers{[]time.Time{start.Add(-time.Hour), start, start, start.Add(time.Hour)}}, time.Microsecond / 2, []int{0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			assert.NoError(t, c.missed.Validate())
			runs, next := c.missed.Plan(c.schedule, start, start.Add(c.late))
			assert.Equal(t, c.runs, seconds(start, runs...))
			if c.next < 0 {
				assert.True(t, next.IsZero())
			} else {
				assert.Equal(t, []int{c.next}, seconds(start, next))
			}
		})
	}
}

// TestPlanMakesFewCallsAfterALongGap counts the calls of Next after a year with half
// a million missed runs.
func TestPlanMakesFewCallsAfterALongGap(t *testing.T) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for maxRuns, most := range map[int]int{0: 60, 1: 60, 100: 600} {
		counted := &counted{Schedule: newSpec(t, "* * * * *")}
		runs, next := clock.Missed{MaxRuns: maxRuns}.Plan(counted, start, start.AddDate(1, 0, 0))
		assert.LessOrEqual(t, counted.calls, most, maxRuns)
		assert.Equal(t, start.AddDate(1, 0, 0), runs[len(runs)-1])
		assert.Equal(t, start.AddDate(1, 0, 0).Add(time.Minute), next)
	}
}

// dense is a schedule with a time per nanosecond, except in the last hour before its end.
type dense struct{ end time.Time }

func (s dense) Next(t time.Time) time.Time {
	if next := t.Add(1); s.end.Sub(next) > time.Hour {
		return next
	}
	return s.end.Add(max(1, t.Add(1).Sub(s.end)))
}

func TestPlanOfADenseScheduleIsBounded(t *testing.T) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	now := start.AddDate(1, 0, 0)
	counted := &counted{Schedule: dense{now.Add(time.Minute)}}
	runs, next := clock.Missed{MaxRuns: 10}.Plan(counted, start, now)
	assert.Equal(t, []time.Time{start}, runs, "there are others, but none within a million calls")
	assert.Equal(t, now.Add(time.Minute+1), next)
	assert.LessOrEqual(t, counted.calls, 1_000_100)
}

// TestPlanContinuesWithTheRestOfItsRuns makes up for missed runs one by one.
func TestPlanContinuesWithTheRestOfItsRuns(t *testing.T) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	now, minutely := start.Add(10*time.Minute), newSpec(t, "* * * * *")
	all := clock.Missed{MaxRuns: 3}
	runs, _ := all.Plan(minutely, start, now)
	assert.Equal(t, []int{480, 540, 600}, seconds(start, runs...))
	for ; len(runs) > 1; runs = runs[1:] {
		rest, next := all.Plan(minutely, runs[1], now)
		assert.Equal(t, runs[1:], rest)
		assert.Equal(t, []int{660}, seconds(start, next))
	}
}

// counted is a schedule that counts the calls of Next.
type counted struct {
	clock.Schedule
	calls int
}

func (c *counted) Next(t time.Time) time.Time {
	c.calls++
	return c.Schedule.Next(t)
}

func TestBadMissedIsAnError(t *testing.T) {
	for want, missed := range map[string]clock.Missed{
		"clock: Missed.MaxRuns: -1 (expected: 0 for the default, or 1 to 10000)":    {MaxRuns: -1},
		"clock: Missed.MaxRuns: 10001 (expected: 0 for the default, or 1 to 10000)": {MaxRuns: 10_001},
		"clock: Missed.MaxLateness: -1ns (expected: 0 for no limit, or more)":       {MaxLateness: -1},
	} {
		assert.EqualError(t, missed.Validate(), want)
	}
}
