package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func at(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestSuccessors(t *testing.T) {
	for _, c := range []struct {
		spec     string
		missed   Missed
		due, now string
		next     string
		fires    bool
	}{
		{"@every 5m", MissedOnce, "2026-11-22 10:00:00", "2026-11-22 10:00:01", "2026-11-22 10:05:00", true},
		{"@every 5m", MissedSkip, "2026-11-22 10:00:00", "2026-11-22 10:04:59", "2026-11-22 10:05:00", true},
		{"@every 5m", MissedOnce, "2026-11-22 10:00:00", "2026-11-22 10:05:00", "2026-11-22 10:10:00", true},
		{"@every 5m", MissedOnce, "2026-11-22 10:00:00", "2026-11-23 10:01:00", "2026-11-23 10:05:00", true},
		{"@every 5m", MissedSkip, "2026-11-22 10:00:00", "2026-11-22 10:11:00", "2026-11-22 10:15:00", false},
		{"@every 5m", MissedAll, "2026-11-22 10:00:00", "2026-11-22 11:00:00", "2026-11-22 10:05:00", true},
		{"0 9 * * *", MissedOnce, "2026-11-22 09:00:00", "2026-11-22 09:00:00", "2026-11-23 09:00:00", true},
		{"0 9 * * *", MissedSkip, "2026-11-22 09:00:00", "2026-11-25 08:00:00", "2026-11-25 09:00:00", false},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", MissedOnce, "2026-03-28 01:30:00", "2026-03-28 01:30:00", "2026-03-30 00:30:00", true},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", MissedOnce, "2026-10-25 00:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00", true},
		{"CRON_TZ=Europe/Berlin 0 9 * * *", MissedOnce, "2026-10-24 07:00:00", "2026-10-24 07:00:00", "2026-10-25 08:00:00", true},
	} {
		e := Every{Spec: c.spec, Missed: c.missed}
		require.NoError(t, e.check())
		s, err := e.schedule(nil)
		require.NoError(t, err)
		next, fires, err := e.successor(s, at(c.due), at(c.now))
		require.NoError(t, err)
		assert.Equal(t, c.next, next.UTC().Format(time.DateTime), "%+v", c)
		assert.Equal(t, c.fires, fires, "%+v", c)
	}
}

// still is a schedule that stands still.
type still struct{}

func (still) Next(t time.Time) time.Time { return t }

func TestAScheduleThatStandsStillIsBroken(t *testing.T) {
	due := at("2026-11-22 10:00:00")
	for _, now := range []time.Time{due.Add(-time.Second), due.Add(time.Second)} {
		_, _, err := Every{Schedule: "still"}.successor(still{}, due, now)
		assert.ErrorContains(t, err, "the schedule returned")
	}
}

func TestEveryIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []Every{{Spec: "@every 5m"}, {Spec: "0 9 * * 1-5", Missed: MissedSkip}, {Schedule: "a b  c", Missed: MissedAll}} {
		got, err := parseEvery(want.header())
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "once", "once spec", "never spec @every 1m", "once what @every 1m"} {
		_, err := parseEvery(text)
		assert.Error(t, err, text)
	}
}
