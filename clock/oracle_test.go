package clock_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

var wholeOracle = flag.Bool("oracle", false, "compare 1,000 specs per zone with the oracle instead of a sample")

// zones have the usual changes, changes of half an hour (Lord Howe) and of two hours
// (Troll), changes at midnight (Santiago, Beirut, Havana, Asuncion), days left out
// (Apia, Kiritimati), offsets with a quarter of an hour (Kathmandu, Chatham), changes
// around Ramadan (Casablanca, Gaza), changes before midnight of another day (Nuuk,
// Jerusalem), or no changes.
var zones = []string{
	"UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/Santiago", "America/Havana",
	"America/Asuncion", "America/St_Johns", "America/Phoenix", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati",
	"Pacific/Chatham", "Asia/Beirut", "Asia/Kathmandu", "Asia/Tokyo", "Africa/Casablanca", "Africa/Cairo", "Antarctica/Troll",
	"Asia/Gaza", "Asia/Jerusalem", "America/Nuuk", "Pacific/Easter",
}

// minute is a minute of a wall clock.
type minute struct {
	unix                              int64
	minute, hour, day, month, weekday uint8
	again                             bool     // The clock has shown the same before.
	gap                               []minute // Left out by the clock just before this one.
}

// newMinute returns the minute that begins at the given Unix time, when the clock shows
// wall, a time in UTC.
func newMinute(unix int64, wall time.Time) minute {
	return minute{unix: unix, minute: uint8(wall.Minute()), hour: uint8(wall.Hour()), day: uint8(wall.Day()),
		month: uint8(wall.Month()), weekday: uint8(wall.Weekday())}
}

// walk returns the minutes of a zone from begin to end. It steps through them one by
// one and remembers the times that the clock has shown.
func walk(zone *time.Location, begin, end time.Time) (all []minute) {
	shown := map[time.Time]bool{}
	var before time.Time
	for t := begin.Add(-48 * time.Hour); t.Before(end); t = t.Add(time.Minute) {
		local := t.In(zone)
		wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
		m := newMinute(t.Unix(), wall)
		m.again = shown[wall]
		for before = before.Add(time.Minute); len(shown) > 0 && before.Before(wall); before = before.Add(time.Minute) {
			if !shown[before] {
				m.gap = append(m.gap, newMinute(m.unix, before))
			}
		}
		shown[wall], before = true, wall
		if !t.Before(begin) {
			all = append(all, m)
		}
	}
	return all
}

// windows returns 48 hours around each change of the zone and each end of a leap year from
// 1970 to 2100, and 20 random weeks. From the changes and weeks, it takes one in every.
func windows(t *testing.T, random *rand.Rand, name string, every int) (all [][]minute) {
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	first, last := time.Date(1970, 1, 3, 0, 0, 0, 0, time.UTC), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
	for day := first; day.Before(last); day = day.AddDate(0, 0, 1) {
		end := day.AddDate(0, 0, 1)
		leaps := day.YearDay() == 366
		if (offset(day, zone) != offset(end, zone) || leaps) && random.IntN(every) == 0 {
			all = append(all, walk(zone, day.Add(-12*time.Hour), end.Add(12*time.Hour)))
		}
	}
	for range 20 / every {
		begin := first.Add(time.Duration(random.Int64N(int64(last.Sub(first))))).Truncate(time.Minute)
		all = append(all, walk(zone, begin, begin.Add(7*24*time.Hour)))
	}
	return all
}

// offset returns by how much the zone's clocks are ahead of UTC, in seconds.
func offset(t time.Time, zone *time.Location) int {
	_, seconds := t.In(zone).Zone()
	return seconds
}

// randomField is a field of a cron expression: its text and its values.
type randomField struct {
	text   string
	values uint64
	any    bool // It is "*".
	wild   bool // It is "*" or "*/n".
}

func newField(random *rand.Rand, first, last int) (f randomField) {
	value := func(from int) int { return from + random.IntN(last-from+1) }
	begin, end, step := first, last, 1
	switch random.IntN(6) {
	case 0:
		f.text, f.any, f.wild = "*", true, true
	case 1:
		step = 1 + random.IntN(last-first)
		f.text, f.wild, f.any = fmt.Sprintf("*/%d", step), true, step == 1
	case 2:
		begin = value(first)
		end = begin
		f.text = fmt.Sprint(begin)
	case 3:
		begin = value(first)
		end = value(begin)
		f.text = fmt.Sprintf("%d-%d", begin, end)
	case 4:
		begin, step = value(first), 1+random.IntN(last-first)
		f.text = fmt.Sprintf("%d/%d", begin, step)
	case 5:
		one, other := value(first), value(first)
		return randomField{text: fmt.Sprintf("%d,%d", one, other), values: 1<<one | 1<<other}
	}
	for ; begin <= end; begin += step {
		f.values |= 1 << begin
	}
	return f
}

// model is a random cron expression.
type model struct{ minute, hour, day, month, weekday randomField }

func newModel(random *rand.Rand) model {
	m := model{newField(random, 0, 59), newField(random, 0, 23), newField(random, 1, 31), newField(random, 1, 12), newField(random, 0, 6)}
	for _, often := range []*randomField{&m.day, &m.month, &m.weekday} {
		if random.IntN(2) == 0 { // Else few of the windows have a time.
			*often = randomField{text: "*", values: 1<<32 - 1, any: true, wild: true}
		}
	}
	return m
}

func (m model) String() string {
	return strings.Join([]string{m.minute.text, m.hour.text, m.day.text, m.month.text, m.weekday.text}, " ")
}

func (m model) matches(at *minute) bool {
	if m.minute.values>>at.minute&1 == 0 || m.hour.values>>at.hour&1 == 0 || m.month.values>>at.month&1 == 0 {
		return false
	}
	day, weekday := m.day.values>>at.day&1 != 0, m.weekday.values>>at.weekday&1 != 0
	if m.day.any || m.weekday.any {
		return day && weekday
	}
	return day || weekday
}

// times returns the times of m in the window.
func (m model) times(window []minute, skipGap, repeat bool) (all []int64) {
	for i := range window {
		at := &window[i]
		run := m.matches(at) && (!at.again || repeat || m.hour.wild)
		if !skipGap && !m.hour.wild {
			run = run || slices.ContainsFunc(at.gap, func(left minute) bool { return m.matches(&left) })
		}
		if run {
			all = append(all, at.unix)
		}
	}
	return all
}

// never reports whether no day of eight years matches.
func (m model) never() bool {
	for day := range 8 * 366 {
		at := newMinute(0, time.Date(2000, 1, 1+day, 0, 0, 0, 0, time.UTC))
		at.minute, at.hour = firstOf(m.minute), firstOf(m.hour)
		if m.matches(&at) {
			return false
		}
	}
	return true
}

func firstOf(f randomField) (value uint8) {
	for f.values>>value&1 == 0 {
		value++
	}
	return value
}

// TestSpecAgreesWithAMinuteByMinuteWalk compares a spec with an oracle that walks
// minute by minute. By default it takes a sample; with -oracle, 1,000 specs per zone, in an hour.
func TestSpecAgreesWithAMinuteByMinuteWalk(t *testing.T) {
	if enginetest.RaceDetector {
		t.Skip("computes much, and shares nothing")
	}
	specs, every := enginetest.Effort(10, 4, 4), 16
	if *wholeOracle {
		specs, every = 1000, 1
	}
	var compared, times atomic.Int64
	t.Run("zones", func(t *testing.T) {
		for seed, zone := range zones {
			t.Run(zone, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				windows := windows(t, random, zone, every)
				for range specs {
					m := newModel(random)
					for options, flags := range map[string][2]bool{"": {false, false}, "SKIP_GAP REPEAT ": {true, true}} {
						times.Add(int64(agreeOn(t, m, "CRON_TZ="+zone+" "+options, flags, windows)))
						compared.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d specs with %d times", compared.Load(), times.Load())
}

// agreeOn compares m with the Spec of its text in all windows, and returns the number
// of times.
func agreeOn(t *testing.T, m model, options string, flags [2]bool, windows [][]minute) (times int) {
	spec, err := clock.ParseSpec(options + m.String())
	if m.never() {
		assert.Error(t, err, m)
		return 0
	}
	require.NoError(t, err)
	for _, window := range windows {
		want := m.times(window, flags[0], flags[1])
		end := window[len(window)-1].unix
		var got []int64
		for at := spec.Next(time.Unix(window[0].unix, -1)); !at.IsZero() && at.Unix() <= end; at = spec.Next(at) {
			got = append(got, at.Unix())
		}
		require.Equal(t, want, got, "%v from %v", spec, time.Unix(window[0].unix, 0).UTC())
		times += len(got)
	}
	return times
}
