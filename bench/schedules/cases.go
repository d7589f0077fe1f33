package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/robfig/cron/v3"

	"github.com/hashedwheel/hwt/clock"
)

// example is a cron expression with its right times.
type example struct {
	name, zone, spec string
	after            string   // RFC 3339
	want             []string // The next times, in that zone. Empty: an error.
	later            string   // As good: the time in the gap, later by the length of the gap.
}

var examples = []example{
	{"02:30 on the day without 02:30: once", "Europe/Berlin", "30 2 * * *", "2027-03-27T12:00:00Z",
		[]string{"03-28 03:00", "03-29 02:30"}, "03-28 03:30, 03-29 02:30"},
	{"02:00 and 02:30 on that day: once", "Europe/Berlin", "0,30 2 * * *", "2027-03-27T12:00:00Z",
		[]string{"03-28 03:00", "03-29 02:00"}, ""},
	{"00:00 on a day that begins at 01:00", "Asia/Beirut", "0 0 * * *", "2027-03-27T12:00:00Z",
		[]string{"03-28 01:00", "03-29 00:00"}, ""},
	{"02:15 in a gap of half an hour", "Australia/Lord_Howe", "15 2 * * *", "2027-10-02T12:00:00Z",
		[]string{"10-03 02:30", "10-04 02:15"}, "10-03 02:45, 10-04 02:15"},
	{"02:30 on the day that has it twice: once", "Europe/Berlin", "30 2 * * *", "2027-10-30T12:00:00Z",
		[]string{"10-31 02:30", "11-01 02:30"}, ""},
	{"02:00 and 02:30 on that day: once each", "Europe/Berlin", "0,30 2 * * *", "2027-10-30T12:00:00Z",
		[]string{"10-31 02:00", "10-31 02:30", "11-01 02:00"}, ""},
	{"00:30 on the day that has it twice: once", "America/Havana", "30 0 * * *", "2027-11-06T12:00:00Z",
		[]string{"11-07 00:30", "11-08 00:30"}, ""},
	{"every 30 minutes on that day: without a pause", "Europe/Berlin", "*/30 * * * *", "2027-10-30T23:45:00Z",
		[]string{"10-31 02:00", "10-31 02:30", "10-31 02:00", "10-31 02:30", "10-31 03:00"}, ""},
	{"29 February across the year 2100", "UTC", "0 0 29 2 *", "2096-03-01T00:00:00Z",
		[]string{"02-29 00:00"}, ""},
	{"30 February: an error", "UTC", "0 0 30 2 *", "2027-01-01T00:00:00Z", nil, ""},

	// Last, because searches that do not end keep the processors busy.
	{"the 30th in a month without it", "Pacific/Apia", "0 9 30 * *", "2011-12-01T00:00:00Z",
		[]string{"12-31 00:00", "01-30 09:00"}, ""},
}

// sides compute the next times of an expression.
var sides = []struct {
	name  string
	times func(e example, after time.Time, n int) ([]time.Time, error)
}{
	{"`clock`", specTimes},
	{"robfig/cron", cronTimes},
	{"gocron", gocronTimes(gocron.DaylightSavingsTimeDefault)},
	{"gocron, RunAfterTransition", gocronTimes(gocron.DaylightSavingsTimeRunAfterTransition)},
}

func specTimes(e example, after time.Time, n int) ([]time.Time, error) {
	spec, err := clock.ParseSpec("CRON_TZ=" + e.zone + " " + e.spec)
	if err != nil {
		return nil, err
	}
	return spec.NextN(after, n), nil
}

func cronTimes(e example, after time.Time, n int) (times []time.Time, err error) {
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.zone + " " + e.spec)
	if err != nil {
		return nil, err
	}
	for ; n > 0; n-- {
		after = schedule.Next(after)
		times = append(times, after)
	}
	return times, nil
}

func gocronTimes(policy gocron.DaylightSavingsTimePolicy) func(example, time.Time, int) ([]time.Time, error) {
	return func(e example, after time.Time, n int) ([]time.Time, error) {
		zone, err := time.LoadLocation(e.zone)
		if err != nil {
			return nil, err
		}
		s, err := gocron.NewScheduler(gocron.WithLocation(zone), gocron.WithClock(clockwork.NewFakeClockAt(after)))
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Shutdown() }()
		job, err := s.NewJob(gocron.CronJob(e.spec, false), gocron.NewTask(func() {}), gocron.WithDaylightSavingsTimePolicy(policy))
		if err != nil {
			return nil, err
		}
		s.Start()
		return job.NextRuns(n)
	}
}

// patience is the time after which a search is called endless. It continues in the
// background.
var patience = 10 * time.Second

// answer returns the times of a library as text.
func (e example) answer(times func(example, time.Time, int) ([]time.Time, error)) string {
	after, err := time.Parse(time.RFC3339, e.after)
	if err != nil {
		return err.Error()
	}
	zone, err := time.LoadLocation(e.zone)
	if err != nil {
		return err.Error()
	}
	answer := make(chan string, 1)
	go func() {
		all, err := times(e, after, max(1, len(e.want)))
		var texts []string
		for _, t := range all {
			text := "none"
			if !t.IsZero() {
				text = t.In(zone).Format("01-02 15:04")
			}
			texts = append(texts, text)
		}
		if err != nil {
			texts = []string{"error"}
		}
		answer <- strings.Join(texts, ", ")
	}()
	select {
	case text := <-answer:
		return text
	case <-time.After(patience):
		return "endless search"
	}
}

func (e example) right() string {
	if len(e.want) == 0 {
		return "error"
	}
	return strings.Join(e.want, ", ")
}

const cases = `
## Times

The next times after a given one. A wrong answer is in bold. A run in a gap may move
to the gap's end, as in %[1]sclock%[1]s by default, or by the gap's length, as gocron can.
Skipping it is right only on request, as with %[1]sSKIP_GAP%[1]s in %[1]sclock%[1]s.
"None" is the zero time. A search of more than ten seconds is called endless.

`

// writeCases writes a table of the examples.
func writeCases(w io.Writer) {
	fmt.Fprintf(w, cases, "`")
	fmt.Fprint(w, "| expression | zone | case | right |")
	for _, side := range sides {
		fmt.Fprintf(w, " %s |", side.name)
	}
	fmt.Fprintln(w, "\n|:--|:--|:--|:--|"+strings.Repeat(":--|", len(sides)))
	for _, e := range examples {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |", e.spec, e.zone, e.name, e.right())
		for _, side := range sides {
			text := "right"
			switch got := e.answer(side.times); got {
			case e.right():
			case e.later:
				text = "right: " + got
			default:
				text = "**" + got + "**"
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
}
