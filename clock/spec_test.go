package clock_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
)

func newSpec(tb testing.TB, text string) *clock.Spec {
	tb.Helper()
	spec, err := clock.ParseSpec(text)
	require.NoError(tb, err)
	return spec
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(tb, err)
	return at
}

// nextTexts returns the times of a spec after t as text.
func nextTexts(tb testing.TB, spec, after string, n int) (all []string) {
	tb.Helper()
	for _, next := range newSpec(tb, spec).NextN(instant(tb, after), n) {
		all = append(all, next.Format(time.RFC3339Nano))
	}
	return all
}

func TestSpecTimes(t *testing.T) {
	for name, c := range map[string]struct {
		spec, after string
		want        string
	}{
		"five fields":                      {"30 9 * * 1-5", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z 2026-11-24T09:30:00Z"},
		"six fields":                       {"*/20 59 23 31 dec *", "2026-12-31T23:59:20.5Z", "2026-12-31T23:59:40Z 2027-12-31T23:59:00Z"},
		"Sunday is 7 as well":              {"0 0 * * 7", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
		"range that ends on Sunday":        {"0 0 * * 6-7", "2026-11-23T00:00:00Z", "2026-11-28T00:00:00Z 2026-11-29T00:00:00Z 2026-12-05T00:00:00Z"},
		"range of names to Sunday":         {"0 0 * * sat-sun", "2026-11-23T00:00:00Z", "2026-11-28T00:00:00Z 2026-11-29T00:00:00Z 2026-12-05T00:00:00Z"},
		"range of all days by name":        {"0 0 * * Monday-SUNDAY", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z 2026-11-29T00:00:00Z 2026-11-30T00:00:00Z"},
		"Sunday to Sunday":                 {"0 0 * * sun-sun", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z 2026-12-06T00:00:00Z"},
		"full name of a month":             {"0 0 1 September *", "2026-11-23T00:00:00Z", "2027-09-01T00:00:00Z"},
		"last day":                         {"0 0 L * *", "2027-12-31T00:00:00Z", "2028-01-31T00:00:00Z 2028-02-29T00:00:00Z 2028-03-31T00:00:00Z 2028-04-30T00:00:00Z"},
		"first and last day":               {"0 0 1,L 2 *", "2026-11-23T00:00:00Z", "2027-02-01T00:00:00Z 2027-02-28T00:00:00Z"},
		"last workday":                     {"0 0 lw * *", "2026-12-31T00:00:00Z", "2027-01-29T00:00:00Z 2027-02-26T00:00:00Z 2027-03-31T00:00:00Z 2027-04-30T00:00:00Z 2027-05-31T00:00:00Z"},
		"workday nearest to a Saturday":    {"0 0 15W * *", "2027-05-01T00:00:00Z", "2027-05-14T00:00:00Z 2027-06-15T00:00:00Z"},
		"workday nearest to a Sunday":      {"0 0 15w * *", "2027-08-01T00:00:00Z", "2027-08-16T00:00:00Z 2027-09-15T00:00:00Z"},
		"workday nearest to the first":     {"0 0 1W * *", "2027-04-02T00:00:00Z", "2027-05-03T00:00:00Z 2027-06-01T00:00:00Z"},
		"workday nearest to the 31st":      {"0 0 31W * *", "2027-09-01T00:00:00Z", "2027-10-29T00:00:00Z 2027-12-31T00:00:00Z 2028-01-31T00:00:00Z"},
		"last Friday":                      {"0 0 * * 5L", "2026-11-23T00:00:00Z", "2026-11-27T00:00:00Z 2026-12-25T00:00:00Z 2027-01-29T00:00:00Z"},
		"last Sunday by name":              {"0 0 * * sunL", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z 2026-12-27T00:00:00Z"},
		"third Friday":                     {"0 0 * * 5#3", "2026-11-23T00:00:00Z", "2026-12-18T00:00:00Z 2027-01-15T00:00:00Z"},
		"first Sunday, by 7":               {"0 0 * * 7#1", "2026-11-23T00:00:00Z", "2026-12-06T00:00:00Z 2027-01-03T00:00:00Z"},
		"fifth Monday by name":             {"0 0 * * Monday#5", "2026-11-30T00:00:00Z", "2027-03-29T00:00:00Z 2027-05-31T00:00:00Z"},
		"13th or third Friday":             {"0 0 13 * 5#3", "2026-11-23T00:00:00Z", "2026-12-13T00:00:00Z 2026-12-18T00:00:00Z"},
		"every other Monday":               {"CRON_TZ=Europe/Berlin EVERY=2w START=2027-03-11T00:00:00Z 0 9 * * 1", "2027-01-01T00:00:00Z", "2027-03-22T09:00:00+01:00 2027-04-05T09:00:00+02:00"},
		"every other week from a Sunday":   {"EVERY=2w START=2027-03-14T00:00:00Z 0 9 * * 0,1", "2027-01-01T00:00:00Z", "2027-03-14T09:00:00Z 2027-03-22T09:00:00Z 2027-03-28T09:00:00Z"},
		"every third day":                  {"CRON_TZ=America/New_York EVERY=3d START=2027-03-10T04:30:00Z 30 1 * * *", "2027-01-01T00:00:00Z", "2027-03-12T01:30:00-05:00 2027-03-15T01:30:00-04:00"},
		"steps in both day fields":         {"0 0 */10 * */6", "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z 2026-12-05T00:00:00Z 2026-12-06T00:00:00Z 2026-12-11T00:00:00Z"},
		"restricted day and weekday":       {"0 0 13 * fri", "2026-11-09T00:00:00Z", "2026-11-13T00:00:00Z 2026-11-20T00:00:00Z"},
		"29 February":                      {"0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		"before 1970":                      {"0 0 * * *", "1912-06-23T12:00:00.1Z", "1912-06-24T00:00:00Z"},
		"macro":                            {"CRON_TZ=Asia/Tokyo @monthly", "2026-11-23T00:00:00Z", "2026-12-01T00:00:00+09:00"},
		"gap":                              {"CRON_TZ=Europe/Berlin 0,30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		"gap and its end":                  {"CRON_TZ=Europe/Berlin 30 2,3 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00"},
		"skipped gap":                      {"CRON_TZ=Europe/Berlin SKIP_GAP 30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T02:30:00+02:00"},
		"gap with a wildcard":              {"CRON_TZ=Europe/Berlin 0 */2 * * *", "2026-03-28T23:30:00Z", "2026-03-29T04:00:00+02:00"},
		"repeated time":                    {"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		"repeated time, twice":             {"CRON_TZ=Europe/Berlin REPEAT 30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00"},
		"repeated time with a wildcard":    {"CRON_TZ=Europe/Berlin 30 * * * *", "2026-10-25T00:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-25T03:30:00+01:00"},
		"every hour by name":               {"CRON_TZ=Europe/Berlin 0 0-23 * * *", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00+01:00"},
		"a day left out":                   {"CRON_TZ=Pacific/Apia 0 12 30 * *", "2011-12-01T00:00:00Z", "2011-12-31T00:00:00+14:00 2012-01-30T12:00:00+14:00"},
		"every":                            {"@every 90m", "2026-11-23T00:00:00.25Z", "2026-11-23T01:30:00.25Z 2026-11-23T03:00:00.25Z"},
		"every from a start":               {"START=2026-01-01T00:00:00Z @every 24h", "2026-11-23T07:00:00Z", "2026-11-24T00:00:00Z 2026-11-25T00:00:00Z"},
		"every from a start 326 years ago": {"START=1700-01-01T00:00:00Z @every 1h", "2026-11-23T07:30:00Z", "2026-11-23T08:00:00Z 2026-11-23T09:00:00Z"},
		"every of 228 years":               {"START=1735-01-01T00:00:00Z @every 2000000h", "2026-11-23T07:30:00Z", "2191-04-26T16:00:00Z"},
		"before the start":                 {"START=2026-12-01T00:00:00Z @every 24h", "2026-11-23T07:00:00Z", "2026-12-01T00:00:00Z 2026-12-02T00:00:00Z"},
		"a time at the start and the end":  {"START=2026-12-01T00:00:00Z END=2026-12-02T00:00:00Z @daily", "2026-11-23T07:00:00Z", "2026-12-01T00:00:00Z 2026-12-02T00:00:00Z"},
		"start and end around times":       {"START=2026-12-01T00:00:00.1Z END=2026-12-02T23:59:59.9Z @daily", "2026-11-23T07:00:00Z", "2026-12-02T00:00:00Z"},
		"every until the end":              {"END=2026-12-01T00:00:00Z @every 24h", "2026-11-29T12:00:00Z", "2026-11-30T12:00:00Z"},
		"year 9999":                        {"0 0 * * *", "9999-12-31T00:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := max(1, len(strings.Fields(c.want)))
			assert.Equal(t, c.want, strings.Join(nextTexts(t, c.spec, c.after, n), " "))
		})
	}
}

func TestSpecFromTheZeroTimeHasTimes(t *testing.T) {
	spec := newSpec(t, "CRON_TZ=Europe/Berlin 0 0 1 1 *")
	assert.Equal(t, 2, spec.Next(time.Time{}).Year())
	assert.Equal(t, 2, spec.Next(time.Unix(-1<<60, 0)).Year())
	assert.True(t, spec.Next(time.Unix(1<<60, 0)).IsZero())
}

// In these zones, time.Time.ZoneBounds returns an end that is not after its argument on the
// last day of a leap year.
func TestSpecPassesTheEndOfALeapYear(t *testing.T) {
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			place, err := time.LoadLocation(zone)
			require.NoError(t, err)
			yearly := newSpec(t, "CRON_TZ="+zone+" @yearly")
			for year, at := 2027, instant(t, "2026-06-01T00:00:00Z"); year <= 2100; year++ {
				at = yearly.Next(at)
				require.Equal(t, time.Date(year, 1, 1, 0, 0, 0, 0, place), at)
			}
			newSpec(t, "CRON_TZ="+zone+" START=2040-12-31T12:00:00Z 0 9 * * *")
			_, err = clock.ParseSpec("CRON_TZ=" + zone + " START=2026-01-01T00:00:00Z 0 0 30 2 *")
			assert.ErrorContains(t, err, "no time matches")
		})
	}
}

func TestSpecOfAnAbsurdTimeReturns(t *testing.T) {
	for _, text := range []string{"* * * * *", "0 0 29 2 *", "CRON_TZ=Europe/Berlin 30 2 * * *", "@every 1h", "START=2027-01-01T00:00:00Z @every 1h",
		"START=0002-01-01T00:00:00Z @every 1s", "@every 2562047h47m16s"} {
		t.Run(text, func(t *testing.T) {
			spec := newSpec(t, text)
			for _, unix := range []int64{-1 << 63, -1 << 62, -62167219201, -62167219200, 253402300799, 253402300800, 1 << 40, 1 << 62, 1<<63 - 1} {
				at := time.Unix(unix, 999_999_999)
				next := spec.Next(at)
				assert.True(t, next.IsZero() || next.After(at), "%v after %d", next, unix)
				assert.True(t, next.IsZero() || next.Unix() < 253402300800, "%v after %d", next, unix)
			}
		})
	}
}

func TestNextNEndsWithTheSpec(t *testing.T) {
	spec := newSpec(t, "END=2026-12-02T00:00:00Z @daily")
	after := instant(t, "2026-11-29T12:00:00Z")
	assert.Len(t, spec.NextN(after, 9), 3)
	assert.Empty(t, spec.NextN(after, 0))
	assert.Empty(t, spec.NextN(after, -1))
}

// TestSpecText compares the text of each spec with its canonical text, and parses that
// again.
func TestSpecText(t *testing.T) {
	for text, want := range map[string]string{
		"  0   2\t* * * ": "0 2 * * *",
		"0 2 ? * ?":       "0 2 * * *",
		"0 0 2 * * *":     "0 2 * * *",
		"5 0 2 * * *":     "5 0 2 * * *",
		"@daily":          "0 0 * * *",
		"@weekly":         "0 0 * * 0",
		"@yearly":         "0 0 1 1 *",
		"TZ=UTC @hourly":  "0 * * * *",
		"JITTER=90s CRON_TZ=Asia/Tokyo @midnight":         "CRON_TZ=Asia/Tokyo JITTER=1m30s 0 0 * * *",
		"0,5,10,15,20,25,30,35,40,45,50,55 */1 * * *":     "*/5 * * * *",
		"0 0,6,12,18 * * *":                               "0 0,6,12,18 * * *",
		"0 */6 * * *":                                     "0 */6 * * *",
		"0 */6,7 * * *":                                   "0 */6,7 * * *",
		"0 0 1-31 * MON-fri":                              "0 0 1-31 * 1-5",
		"0 0 * JAN,july 6,7":                              "0 0 * 1,7 0,6",
		"0 0 lw,31w,L,2 * *":                              "0 0 2,31W,L,LW * *",
		"0 0 * * friL,7#2,1,Saturday#5":                   "0 0 * * 1,5L,0#2,6#5",
		"0 0 *,L * *":                                     "0 0 *,L * *",
		"EVERY=2w START=2026-01-05T00:00:00Z 0 9 * * mon": "EVERY=2w START=2026-01-05T00:00:00Z 0 9 * * 1",
		"START=2026-01-05T00:00:00Z EVERY=10d @daily":     "EVERY=10d START=2026-01-05T00:00:00Z 0 0 * * *",
		"0 0 1-7/2 3/4 *":                                 "0 0 1,3,5,7 3,7,11 *",
		"1-3,3-9,20 1,2 * * *":                            "1-9,20 1,2 * * *",
		"@every 1h":                                       "@every 1h0m0s",
		"REPEAT END=2027-01-01T00:00:00+02:00 SKIP_GAP START=2026-01-01T01:00:00.5+01:00 CRON_TZ=Europe/Berlin JITTER=30s 0 2 * * *": "CRON_TZ=Europe/Berlin SKIP_GAP REPEAT START=2026-01-01T00:00:00.5Z END=2026-12-31T22:00:00Z JITTER=30s 0 2 * * *",
	} {
		spec := newSpec(t, text)
		assert.Equal(t, want, spec.String(), text)
		assert.Equal(t, spec, newSpec(t, want), "a Spec of the canonical text")
	}
}

func TestSpecInJSON(t *testing.T) {
	type config struct {
		Nightly *clock.Spec
		Hourly  clock.Spec
	}
	in := config{newSpec(t, "CRON_TZ=Europe/Berlin @daily"), *newSpec(t, "@hourly")}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	assert.JSONEq(t, `{"Nightly": "CRON_TZ=Europe/Berlin 0 0 * * *", "Hourly": "0 * * * *"}`, string(text))
	var c config
	require.NoError(t, json.Unmarshal(text, &c))
	assert.Equal(t, in, c)
	assert.Error(t, json.Unmarshal([]byte(`{"Nightly": "@dayly"}`), &c))
	assert.Equal(t, "CRON_TZ=Europe/Berlin 0 0 * * *", c.Nightly.String(), "it is as before")
	require.NoError(t, json.Unmarshal([]byte(`{"Nightly": ""}`), &c))
	assert.Empty(t, c.Nightly.String())
}

func TestSpecInAnotherZone(t *testing.T) {
	spec := newSpec(t, "30 2 * * *")
	zone := time.FixedZone("mine", 3600)
	at := instant(t, "2026-11-23T01:30:00Z")
	assert.Equal(t, at.Add(24*time.Hour).In(zone), spec.In(zone).Next(at))
	assert.Equal(t, at.Add(time.Hour), spec.Next(at), "the original is as before")
	assert.True(t, (&clock.Spec{}).In(zone).Next(at).IsZero())
	assert.PanicsWithValue(t, "clock: Spec.In: zone is nil (expected: a time zone)", func() { spec.In(nil) })
}

func TestSpecInAnotherZoneIsThatOfItsText(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for _, text := range []string{"30 2 * * *", "EVERY=3d START=2027-01-01T00:00:00Z 0 9 * * *", "EVERY=2w START=2027-01-04T00:00:00Z 0 9 * * 1"} {
		t.Run(text, func(t *testing.T) {
			spec := newSpec(t, text)
			before := *spec
			other := spec.In(zone)
			assert.Equal(t, newSpec(t, "CRON_TZ=America/New_York "+text), other)
			assert.Equal(t, newSpec(t, other.String()), other)
			assert.Equal(t, before, *spec, "the original is as before")
		})
	}
}

func TestSpecPrintsItsText(t *testing.T) {
	spec := newSpec(t, "0 9 * * 1-5")
	assert.Equal(t, "0 9 * * 1-5 0 9 * * 1-5", fmt.Sprint(*spec, " ", spec))
}

func TestNilAndZeroSpecsHaveNoTimesAndNoText(t *testing.T) {
	for _, spec := range []*clock.Spec{nil, {}} {
		assert.True(t, spec.Next(time.Now()).IsZero())
		assert.True(t, spec.Prev(time.Now()).IsZero())
		assert.False(t, spec.Matches(time.Time{}))
		assert.Empty(t, slices.Collect(spec.Between(time.Time{}, time.Now())))
		assert.Empty(t, spec.NextN(time.Now(), 3))
		assert.Zero(t, spec.Delay(time.Now()))
	}
	text, err := clock.Spec{}.MarshalText()
	assert.NoError(t, err)
	assert.Empty(t, text)
	assert.Empty(t, clock.Spec{}.String())
}

func TestDelayIsLessThanTheJitterAndEndsAtTheEnd(t *testing.T) {
	const end = "2027-01-01T00:00:00Z"
	spec := newSpec(t, "END="+end+" JITTER=1m @hourly")
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := spec.Delay(instant(t, "2026-12-31T23:00:00Z"))
		assert.GreaterOrEqual(t, d, time.Duration(0))
		assert.Less(t, d, time.Minute)
		seen[d.Truncate(10*time.Second)] = true
		assert.LessOrEqual(t, spec.Delay(instant(t, end).Add(-time.Second)), time.Second)
		assert.Zero(t, spec.Delay(instant(t, end)))
		assert.Zero(t, spec.Delay(instant(t, end).Add(time.Hour)))
	}
	assert.Len(t, seen, 6)
	assert.Zero(t, newSpec(t, "@hourly").Delay(time.Now()))
}

func TestDelayIsNotZeroWithAFarEnd(t *testing.T) {
	spec := newSpec(t, "END=9999-12-31T23:59:59Z JITTER=1h @hourly")
	assert.NotZero(t, spec.Delay(time.Now())+spec.Delay(time.Now()))
}

const fieldCount = `(expected: five or six fields, "@every" and a duration, or a name such as @daily)`

// badSpecs are the errors by spec.
var badSpecs = map[string]string{
	"":                                      `expression "" ` + fieldCount,
	"* * * *":                               `expression "* * * *" ` + fieldCount,
	"1 2 3 4 5 6 7":                         `expression "1 2 3 4 5 6 7" ` + fieldCount,
	"@dayly":                                `expression "@dayly" ` + fieldCount,
	"CRON_TZ=UTC":                           `expression "" ` + fieldCount,
	"CRON_TZ=UTC @every":                    `expression "@every" ` + fieldCount,
	"61 * * * *":                            `minute: "61" (expected: 0 to 59)`,
	"60 * * * * *":                          `second: "60" (expected: 0 to 59)`,
	"0 24 * * *":                            `hour: "24" (expected: 0 to 23)`,
	"0 0 0 * *":                             `day of month: "0" (expected: 1 to 31)`,
	"0 0 * 13 *":                            `month: "13" (expected: 1 to 12)`,
	"0 0 * * 8":                             `day of week: "8" (expected: 0 to 7)`,
	"0 0 * mon *":                           `month: "mon" (expected: 1 to 12)`,
	"0 0,,1 * * *":                          `hour: "" (expected: 0 to 23)`,
	"0 -1 * * *":                            `hour: "-1" (expected: 0 to 23)`,
	"0 1-2-3 * * *":                         `hour: "1-2-3" (expected: 0 to 23)`,
	"0 5-1 * * *":                           `hour: "5-1" (expected: a range in ascending order)`,
	"*/60 * * * *":                          `minute: "*/60" (expected: a step of 1 to 59)`,
	"0 */0 * * *":                           `hour: "*/0" (expected: a step of 1 to 23)`,
	"0 1/2/3 * * *":                         `hour: "1/2/3" (expected: a step of 1 to 23)`,
	"99999999999 * * * *":                   `minute: "99999999999" (expected: 0 to 59)`,
	"@every 1ms":                            `@every: "1ms" (expected: a duration of at least 1s)`,
	"@every soon":                           `@every: "soon" (expected: a duration of at least 1s)`,
	"0 0 30 2 *":                            `no time matches (expected: at least one from START to END)`,
	"0 0 31 4,jun *":                        `no time matches (expected: at least one from START to END)`,
	"CRON_TZ=Local @daily":                  `CRON_TZ: "Local" (expected: a name such as Europe/Berlin, which means the same on every machine)`,
	"TZ= @daily":                            `CRON_TZ: "" (expected: a name such as Europe/Berlin, which means the same on every machine)`,
	"CRON_TZ=Mars @daily":                   `CRON_TZ: "Mars" (expected: a name in the IANA time zone database): unknown time zone Mars`,
	"TZ=UTC TZ=UTC @daily":                  `CRON_TZ: given twice (expected: once)`,
	"JITTER=0s @daily":                      `JITTER: "0s" (expected: a duration of at least 1ns)`,
	"JITTER @daily":                         `JITTER: "" (expected: a duration of at least 1ns)`,
	"START=today @daily":                    `START: "today" (expected: a time of the years 2 to 9999, such as 2027-01-31T15:04:05Z)`,
	"START=0001-01-01T00:00:00Z @every 24h": `START: "0001-01-01T00:00:00Z" (expected: a time of the years 2 to 9999, such as 2027-01-31T15:04:05Z)`,
	"END=9999-12-31T23:59:59-01:00 @daily":  `END: "9999-12-31T23:59:59-01:00" (expected: a time of the years 2 to 9999, such as 2027-01-31T15:04:05Z)`,
	"ZONE=UTC 0 0 * * *":                    `ZONE: unknown option (expected: CRON_TZ, TZ, SKIP_GAP, REPEAT, EVERY, START, END or JITTER)`,
	"REPEAT=2 @daily":                       `REPEAT: =2 (expected: no value)`,
	"0 0 32W * *":                           `day of month: "32W" (expected: 1 to 31)`,
	"0 0 W * *":                             `day of month: "W" (expected: 1 to 31)`,
	"0 0 L-3 * *":                           `day of month: "L-3" (expected: 1 to 31)`,
	"0 0 L 2 5L,8L":                         `day of week: "8L" (expected: 0 to 7)`,
	"0 0 * * L":                             `day of week: "L" (expected: 0 to 7)`,
	"0 0 * * #2":                            `day of week: "#2" (expected: 0 to 7)`,
	"0 0 * * 5#6":                           `day of week: "5#6" (expected: 1 to 5 after #)`,
	"0 0 * * 5L#2":                          `day of week: "5L#2" (expected: 0 to 7)`,
	"0 0 * L *":                             `month: "L" (expected: 1 to 12)`,
	"0 0 * * 1-0":                           `day of week: "1-0" (expected: a range in ascending order)`,
	"EVERY=2w 0 9 * * 1":                    `START: missing (expected: a time in the first day or week of EVERY)`,
	"EVERY=2m 0 9 * * 1":                    `EVERY: "2m" (expected: 1 to 1000 days or weeks, such as 3d or 2w)`,
	"EVERY=0d 0 9 * * 1":                    `EVERY: "0d" (expected: 1 to 1000 days or weeks, such as 3d or 2w)`,
	"EVERY=1001w 0 9 * * 1":                 `EVERY: "1001w" (expected: 1 to 1000 days or weeks, such as 3d or 2w)`,
	"EVERY=2w START=2027-01-01T00:00:00Z @every 1h": `EVERY: it selects days (expected: a cron expression instead of @every)`,
	"0 0 30W 2 *":      `no time matches (expected: at least one from START to END)`,
	"repeat 0 0 * * *": `second: "repeat" (expected: 0 to 59)`,
	"START=2027-01-02T00:00:00Z END=2027-01-01T00:00:00Z @daily": `END: 2027-01-01T00:00:00Z (expected: START or later)`,
	"START=2027-01-01T00:00:01Z END=2027-01-01T09:00:00Z @daily": `no time matches (expected: at least one from START to END)`,
}

func TestBadSpecsAreErrors(t *testing.T) {
	for text, want := range badSpecs {
		spec, err := clock.ParseSpec(text)
		assert.Nil(t, spec, text)
		assert.EqualError(t, err, "clock: spec \""+strings.ReplaceAll(text, `"`, `\"`)+"\": "+want)
	}
}

// TestSpecOfTheSkippedDayOfApiaEnds calls Next with a time from which a search for
// a day 30 passes the day that does not exist.
func TestSpecOfTheSkippedDayOfApiaEnds(t *testing.T) {
	assert.Equal(t, []string{"2012-01-30T00:00:00+14:00"},
		nextTexts(t, "CRON_TZ=Pacific/Apia SKIP_GAP 0 0 30 * *", "2011-12-01T00:00:00Z", 1))
}

// FuzzSpec compares a spec with the one of its canonical text, and its times with each
// other.
func FuzzSpec(f *testing.F) {
	for _, text := range []string{"30 9 * * 1-5", "CRON_TZ=Europe/Berlin SKIP_GAP REPEAT 0 2 * * *", "JITTER=1s @every 1h", "0 */6,7 29 2 *",
		"START=2026-01-01T00:00:00Z END=2027-01-01T00:00:00Z */7 1-9/3 ? jan-mar sun"} {
		f.Add(text, int64(1_774_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, after int64) {
		spec, err := clock.ParseSpec(text)
		if err != nil {
			return
		}
		require.Equal(t, spec, newSpec(t, spec.String()))
		at := time.Unix(after, 0)
		for _, next := range spec.NextN(at, 5) {
			require.True(t, next.After(at), "%v is not after %v", next, at)
			at = next
		}
	})
}
