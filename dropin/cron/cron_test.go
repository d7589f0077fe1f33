package cron_test

import (
	"bytes"
	"context"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/dropin/cron"
	"github.com/hashedwheel/hwt/dropin/internal/wheeltest"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestMain(m *testing.M) { wheeltest.Main(m) }

// TestEntriesRunOnTime runs a night around a change of the clocks. A bubble begins in the
// year 2000, when Berlin's clocks were set forward on 26 March.
func TestEntriesRunOnTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	enginetest.Bubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 3, 25, 12, 0, 0, 0, berlin)))
		c := cron.New(cron.WithLocation(berlin))
		var mu sync.Mutex
		var runs []string
		add := func(spec string) cron.EntryID {
			id, err := c.AddFunc(spec, func() {
				mu.Lock()
				defer mu.Unlock()
				runs = append(runs, spec+" at "+time.Now().In(berlin).Format("02 15:04"))
			})
			require.NoError(t, err)
			return id
		}
		gap := add("30 2 * * *")
		add("TZ=UTC 0 4 * * *")
		add("@every 10h")
		c.Start()
		add("0 */6 * * *")
		removed := add("* * * * *")
		c.Remove(removed)
		assert.False(t, c.Entry(removed).Valid())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		assert.Equal(t, time.Date(2000, 3, 26, 3, 0, 0, 0, berlin), c.Entry(gap).Prev.In(berlin))
		assert.Equal(t, time.Date(2000, 3, 27, 2, 30, 0, 0, berlin), c.Entry(gap).Next.In(berlin))
		assert.NoError(t, await(c.Stop()))
		time.Sleep(48 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		assert.ElementsMatch(t, []string{
			"30 2 * * * at 26 03:00", "TZ=UTC 0 4 * * * at 26 06:00", "@every 10h at 25 22:00", "@every 10h at 26 09:00",
			"0 */6 * * * at 25 18:00", "0 */6 * * * at 26 00:00", "0 */6 * * * at 26 06:00", "0 */6 * * * at 26 12:00",
		}, runs)
	})
}

// await waits for the end of the runs.
func await(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Hour):
		return context.DeadlineExceeded
	}
}

func TestStopWaitsForTheRunsUnderWay(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := cron.New(cron.WithSeconds())
		_, err := c.AddFunc("* * * * * *", func() { time.Sleep(10 * time.Second) })
		require.NoError(t, err)
		go c.Run()
		synctest.Wait()
		c.Start() // It runs.
		time.Sleep(5*time.Second + time.Second/2)
		begin, ctx := time.Now(), c.Stop()
		assert.NoError(t, ctx.Err())
		<-ctx.Done()
		assert.Equal(t, 9*time.Second+time.Second/2, time.Since(begin))
		assert.Error(t, c.Stop().Err(), "nothing runs")
		c.Start()
		time.Sleep(2 * time.Second)
		<-c.Stop().Done()
	})
}

func TestRecoverLogsAPanicWithItsStack(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		logger := cron.VerbosePrintfLogger(log.New(&logged, "", 0))
		c := cron.New(cron.WithLogger(logger), cron.WithChain(cron.Recover(logger)))
		_, err := c.AddFunc("@every 1m", func() { panic("no good") })
		require.NoError(t, err)
		c.Start()
		time.Sleep(time.Minute + time.Second)
		<-c.Stop().Done()
		text := logged.String()
		for _, part := range []string{"start\n", "schedule, now=", "run, now=", "panic, error=no good, stack=...\n", "TestRecoverLogs", "stop\n"} {
			assert.Contains(t, text, part)
		}
	})
}

// custom is a schedule of the user.
type custom struct{ zones chan *time.Location }

func (s custom) Next(t time.Time) time.Time {
	s.zones <- t.Location()
	return time.Time{}
}

func TestScheduleGetsTimesInTheZoneOfItsCron(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		zone := time.FixedZone("mine", 3600)
		c := cron.New(cron.WithLocation(zone))
		s := custom{make(chan *time.Location, 1)}
		id := c.Schedule(s, cron.FuncJob(func() { assert.Fail(t, "ran") }))
		c.Start()
		assert.Equal(t, zone, <-s.zones)
		assert.Zero(t, c.Entry(id).Next)
		assert.True(t, c.Entry(id).Valid())
		c.Stop()
	})
}

// TestEntriesOnTheSharedWheel uses the real clock, since a bubble has its own timers.
func TestEntriesOnTheSharedWheel(t *testing.T) {
	c := cron.New()
	_, err := c.AddFunc("@yearly", func() {})
	require.NoError(t, err)
	before := wheeltest.Pending()
	c.Start()
	assert.Equal(t, before+1, wheeltest.Pending())
	c.Stop()
	assert.Equal(t, before, wheeltest.Pending())
}

func TestBadSpecsAreErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"TZ=UTC":                "expected an expression after the time zone",
		"CRON_TZ=Mars/X @daily": "provided bad location Mars/X",
		"* * * *":               "expected exactly 5 fields, found 4",
		"60 * * * *":            "end of range (60) above maximum (59)",
		"* * 0 * *":             "beginning of range (0) below minimum (1)",
		"* 5-1 * * *":           "beginning of range (5) beyond end of range (1)",
		"1-2-3 * * * *":         "too many hyphens",
		"*/2/3 * * * *":         "too many slashes",
		"*/0 * * * *":           "step of range should be a positive number",
		"-1 * * * *":            `failed to parse int from : strconv.Atoi: parsing "": invalid syntax: -1`,
		"*/ * * * *":            `failed to parse int from : strconv.Atoi: parsing "": invalid syntax: */`,
		"0 0 * * L":             "failed to parse int from L",
		"0 0 W * *":             "failed to parse int from W",
		"0 0 * * #2":            "failed to parse int from #2",
		"@fortnightly":          "unrecognized descriptor",
		"@every soon":           "failed to parse duration",
	} {
		t.Run(spec, func(t *testing.T) {
			schedule, err := cron.ParseStandard(spec)
			assert.ErrorContains(t, err, want)
			assert.Nil(t, schedule)
		})
	}
	assert.Panics(t, func() { cron.NewParser(cron.SecondOptional | cron.DowOptional) })
}

func TestSpecScheduleFollowsTheZoneOfItsArgument(t *testing.T) {
	s, err := cron.ParseStandard("0 9 29 2 *")
	require.NoError(t, err)
	zone := time.FixedZone("mine", -3600)
	at := time.Date(2096, 3, 1, 0, 0, 0, 0, zone)
	assert.Equal(t, time.Date(2104, 2, 29, 9, 0, 0, 0, zone), s.Next(at))
	assert.Zero(t, (&cron.SpecSchedule{}).Next(at), "no value matches")
}

func Example() {
	c := cron.New(cron.WithSeconds(), cron.WithLogger(cron.PrintfLogger(log.New(os.Stderr, "", 0))))
	ran := make(chan string, 1)
	if _, err := c.AddFunc("* * * * * *", func() {
		select {
		case ran <- strings.ToUpper("each second"):
		default:
		}
	}); err != nil {
		panic(err)
	}
	c.Start()
	defer c.Stop()
	log.New(os.Stdout, "", 0).Println(<-ran)
	// Output: EACH SECOND
}

// TestEmptyFieldHasNoValues compares with the rules of robfig/cron for bits that are not set.
func TestEmptyFieldHasNoValues(t *testing.T) {
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	from := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	for spec, want := range map[string]time.Time{
		", * * * * *": {},
		"0 , * * * *": {},
		"* * * * * ,": {},
		"* * * , * *": {},
		"0 0 0 , * ,": {},
		"0 0 0 1 * ,": time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		"0 0 0 , * 1": time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(spec, func(t *testing.T) {
			schedule, err := parser.Parse(spec)
			require.NoError(t, err)
			assert.Equal(t, want, schedule.Next(from))
		})
	}
}

// curious is a schedule that looks at an entry while a run begins.
type curious func()

func (c curious) Next(t time.Time) time.Time {
	c()
	return t.Truncate(time.Hour).Add(time.Hour)
}

func TestEntryShowsItsTimesAsARunBegins(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := cron.New(cron.WithLocation(time.UTC))
		start := time.Now().UTC()
		var id cron.EntryID
		var seen []cron.Entry
		id = c.Schedule(curious(func() {
			if time.Since(start) > 0 {
				seen = append(seen, c.Entry(id))
			}
		}), cron.FuncJob(func() {}))
		c.Start()
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		require.Len(t, seen, 1)
		assert.Equal(t, start.Add(time.Hour), seen[0].Next.Round(0))
		assert.Zero(t, seen[0].Prev)
		assert.Equal(t, start.Add(time.Hour), c.Entry(id).Prev.Round(0))
		assert.Equal(t, start.Add(2*time.Hour), c.Entry(id).Next.Round(0))
		assert.NoError(t, await(c.Stop()))
	})
}
