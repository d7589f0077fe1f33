package durable_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// every stores a series with a period of ten seconds.
func (f *fixture) every(missed clock.Missed) {
	f.t.Helper()
	_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 10s", Missed: missed}})
	require.NoError(f.t, err)
}

func TestRecurringEntryIsAlwaysPending(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.every(clock.Missed{})
		end := f.work(nil, nil)
		for range 300 {
			time.Sleep(100*time.Millisecond + 1)
			require.Len(t, f.keys(), 1)
		}
		_, err := f.Cancel(f.t.Context(), "series")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		end()
		assert.Equal(t, seconds(10, 20, 30), f.times())
		assert.NotEqual(t, f.fired[0].ID, f.fired[1].ID)
		assert.Equal(t, "@every 10s", f.fired[0].Every.Spec)
	})
}

func TestMissedOccurrencesFollowTheirOptions(t *testing.T) {
	for _, c := range []struct {
		missed clock.Missed
		want   []time.Duration
	}{
		{clock.Missed{}, seconds(45, 50, 60)},
		{clock.Missed{MaxLateness: time.Second}, seconds(50, 60)},
		{clock.Missed{MaxRuns: 4, MaxLateness: 20 * time.Second}, seconds(45, 45, 50, 60)},
		{clock.Missed{MaxRuns: 100}, seconds(45, 45, 45, 45, 50, 60)},
		{clock.Missed{MaxRuns: 2}, seconds(45, 45, 50, 60)},
	} {
		t.Run(fmt.Sprintf("%+v", c.missed), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.every(c.missed)
				time.Sleep(45 * time.Second)
				defer f.work(nil, nil)()
				time.Sleep(20 * time.Second)
				var rounded []time.Duration
				for _, at := range f.times() {
					rounded = append(rounded, at.Truncate(time.Second))
				}
				// Occurrences that are made up for follow each other within seconds.
				for i := range rounded {
					if rounded[i] > 45*time.Second && rounded[i] < 48*time.Second {
						rounded[i] = 45 * time.Second
					}
				}
				assert.Equal(t, c.want, rounded)
				require.Len(t, f.keys(), 1)
			})
		})
	}
}

// The database returns an occurrence a poll of 250 ms after the claim of the one before. The test stores the series
// after the first looks of the new Work.
func TestDenseSeriesFires(t *testing.T) {
	inBubble(t, func(f *fixture) {
		dense := named{func(t time.Time) time.Time { return t.Add(100 * time.Millisecond) }}
		end := f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": dense}})
		time.Sleep(10 * time.Millisecond)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now(), Every: durable.Every{Schedule: "mine"}})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		end()
		assert.Len(t, f.times(), 41)
		for _, firing := range f.fired {
			assert.Less(t, firing.Lateness, 100*time.Millisecond)
		}
		assert.EqualValues(t, 40, f.stats().Missed)
	})
}

func TestOccurrenceRetriesBesideItsSeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.every(clock.Missed{})
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if len(f.times()) == 1 {
				return durable.RetryAfter(15 * time.Second)
			}
			return nil
		}, nil)()
		time.Sleep(20500 * time.Millisecond)
		assert.Equal(t, []string{"series", "series"}, f.keys())
		time.Sleep(10 * time.Second)
		require.Len(t, f.times(), 4)
		assert.Equal(t, f.fired[0].ID, f.fired[2].ID)
		assert.Greater(t, f.fired[2].Generation, f.fired[0].Generation)
		assert.Equal(t, f.fired[0].Due.Add(20*time.Second), f.fired[3].Due)
	})
}

func TestCancelEndsTheWaitingRetriesOfASeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.every(clock.Missed{})
		defer f.work(func(context.Context, durable.Firing) error { return durable.RetryAfter(time.Minute) }, nil)()
		time.Sleep(15 * time.Second)
		var generations []uint64
		for e := range f.All(f.t.Context(), "") {
			generations = append(generations, e.Generation)
		}
		require.Len(t, generations, 2)
		_, err := f.If(generations[1]).Cancel(f.t.Context(), "series")
		require.NoError(t, err)
		require.Len(t, f.keys(), 1, "CancelIf of the waiting retry leaves the series")
		time.Sleep(10 * time.Second)
		_, err = f.Cancel(f.t.Context(), "series")
		require.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Len(t, f.times(), 2)
		assert.Empty(t, f.keys())
	})
}

func TestStoreWithoutAWorkFollowsTheClock(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.shift(-time.Hour)
		time.Sleep(time.Minute)
		e, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 10s"}})
		require.NoError(t, err)
		assert.Equal(t, -time.Hour+10*time.Second, time.Until(e.Due))
		assert.Equal(t, -time.Hour, f.stats().ClockOffset)
	})
}

type named struct{ next func(time.Time) time.Time }

func (n named) Next(t time.Time) time.Time { return n.next(t) }

func TestNamedScheduleWaitsForAWorkerThatKnowsIt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(5 * time.Second), Every: durable.Every{Schedule: "mine"}})
		require.NoError(t, err)
		stranger := f.work(nil, nil)
		time.Sleep(time.Minute)
		require.Empty(t, f.times())
		stranger()
		last := named{func(time.Time) time.Time { return time.Time{} }}
		defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": last}})()
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 1)
		assert.Empty(t, f.keys())
	})
}

func TestScheduleThatRepeatsATimeDoesNotFire(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(5 * time.Second), Every: durable.Every{Schedule: "mine"}})
		require.NoError(t, err)
		stuck := named{func(t time.Time) time.Time { return t }}
		defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": stuck}})()
		time.Sleep(time.Minute)
		assert.Empty(t, f.times())
		assert.Equal(t, []string{"k"}, f.keys())
	})
}

func TestScheduleThatPanicsDoesNotFire(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("no good") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(5 * time.Second), Every: durable.Every{Schedule: "mine"}})
				require.NoError(t, err)
				broken := named{func(t time.Time) time.Time { fail(); return t }}
				defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": broken}})()
				f.setIn("other", 5*time.Second)
				time.Sleep(time.Minute)
				assert.Equal(t, seconds(5), f.times())
				assert.Equal(t, []string{"k"}, f.keys())
			})
		})
	}
}

// Another machine has stored a series in a time zone that this machine lacks. Each look at the database finds it again.
func TestUnknownZoneIsLoggedOncePerMinute(t *testing.T) {
	inBubble(t, func(f *fixture) {
		zoned := backend.Row{Key: "zoned", Due: time.Now().Add(time.Second).UnixNano(), Every: "0 0 CRON_TZ=Own/Zone * * * * *", Attempt: 1, Nonce: 7}
		_, err := f.b.Apply(f.t.Context(), []backend.Op{{Kind: backend.Set, Row: zoned}})
		require.NoError(t, err)
		f.setIn("other", 5*time.Second)
		defer f.work(nil, nil)()
		time.Sleep(150 * time.Second)
		assert.Equal(t, seconds(5), f.times())
		assert.Equal(t, []string{"zoned"}, f.keys())
		assert.Equal(t, 3, strings.Count(f.log.String(), "cannot find the next occurrence"), f.log)
	})
}

// The database returns a leased entry to no other worker.
func TestEntryWithoutANextOccurrenceIsLeftToOtherWorkers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(500 * time.Millisecond), Every: durable.Every{Schedule: "mine"}})
		require.NoError(t, err)
		stuck := named{func(t time.Time) time.Time { return t }}
		defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": stuck}})()
		time.Sleep(time.Second)
		last := named{func(time.Time) time.Time { return time.Time{} }}
		defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": last}})()
		time.Sleep(time.Minute)
		assert.Len(t, f.times(), 1)
	})
}

// Times of a backend end in the year 2262.
func TestSeriesEndsBeforeTheYear2263(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Second), Every: durable.Every{Schedule: "mine"}})
		require.NoError(t, err)
		far := named{func(time.Time) time.Time { return time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }}
		defer f.work(nil, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"mine": far}})()
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(1), f.times())
		assert.Empty(t, f.keys())
		assert.Empty(t, f.dead())
	})
}

// A repeat of a firing has the Due of the first.
func TestRepeatHasTheSameDue(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Second), Every: durable.Every{Spec: "@every 1s"}})
		require.NoError(t, err)
		time.Sleep(4500 * time.Millisecond)
		n := 0
		end := f.work(func(ctx context.Context, g durable.Firing) error {
			if n++; n == 1 {
				f.b.set("Heartbeat", durable.ErrLeaseLost)
				<-ctx.Done()
				f.b.set("Heartbeat", nil)
				time.Sleep(20 * time.Second)
			}
			return nil
		}, nil)
		time.Sleep(40 * time.Second)
		end()
		for i, g := range f.fired {
			if i > 0 && g.ID == f.fired[0].ID {
				assert.Equal(t, f.fired[0].Due, g.Due)
				return
			}
		}
		t.Fatal("no repeat")
	})
}

// Move to the present runs a series now. The regular occurrence of a cron expression stays.
func TestMoveRunsASeriesNow(t *testing.T) {
	for spec, want := range map[string][]time.Duration{
		"@every 10s":            seconds(10, 15, 25, 35),
		"0,20,40 * * * * *":     seconds(15, 20, 40),
		"CRON_TZ=UTC 0 * * * *": seconds(15),
	} {
		t.Run(spec, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: spec}})
				require.NoError(t, err)
				defer f.work(nil, nil)()
				time.Sleep(15 * time.Second)
				_, err = f.Move(f.t.Context(), "series", time.Now())
				require.NoError(t, err)
				time.Sleep(27 * time.Second)
				assert.Equal(t, want, f.times())
			})
		})
	}
}

func TestOccurrencesLeftOutAreLogged(t *testing.T) {
	for name, c := range map[string]struct {
		missed, overlap int // log lines
		every           durable.Every
	}{
		"missed":  {1, 0, durable.Every{Spec: "@every 10s"}},
		"overlap": {0, 1, durable.Every{Spec: "@every 10s"}},
		"beside":  {0, 0, durable.Every{Spec: "@every 10s", Overlap: clock.OverlapParallel}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: c.every})
				require.NoError(t, err)
				if c.missed > 0 {
					time.Sleep(45 * time.Second)
				}
				defer f.work(func(context.Context, durable.Firing) error {
					if name != "missed" {
						time.Sleep(25 * time.Second)
					}
					return nil
				}, nil)()
				time.Sleep(45 * time.Second)
				assert.Equal(t, c.missed, strings.Count(f.log.String(), "Every.Missed"), f.log)
				assert.Equal(t, c.overlap, strings.Count(f.log.String(), "Every.Overlap"), f.log)
				assert.Equal(t, c.missed+c.overlap > 0, f.stats().Missed > 0)
			})
		})
	}
}

// lastOccurrence sets a series with one occurrence, at 10 s, which is missed when it is late by 5 s. Its second
// attempt succeeds.
func (f *fixture) lastOccurrence(first durable.Handler, o durable.WorkOptions) (end func()) {
	f.t.Helper()
	_, err := f.Set(f.t.Context(), lastOf(f))
	require.NoError(f.t, err)
	return f.work(func(ctx context.Context, firing durable.Firing) error {
		if len(f.firings()) == 1 {
			return first(ctx, firing)
		}
		return nil
	}, &o)
}

func lastOf(f *fixture) durable.Entry {
	due := f.start.Add(10 * time.Second)
	spec := "END=" + due.Add(time.Minute).UTC().Format(time.RFC3339) + " @every 1h"
	return durable.Entry{Key: "k", Due: due, Every: durable.Every{Spec: spec, Missed: clock.Missed{MaxLateness: 5 * time.Second}}}
}

// The last occurrence of a series fires again, however late: it has begun, and was not missed.
func TestLastOccurrenceThatHasBegunFires(t *testing.T) {
	retry := func(context.Context, durable.Firing) error { return durable.RetryAfter(time.Minute) }
	for name, c := range map[string]struct {
		first durable.Handler
		then  func(f *fixture) // while no worker works
	}{
		"retried":   {retry, nil},
		"postponed": {func(context.Context, durable.Firing) error { return durable.Postpone(time.Minute) }, nil},
		"twice": {func(context.Context, durable.Firing) error { return durable.Postpone(time.Minute) }, func(f *fixture) {
			f.crash("k")
		}},
		"interrupted": {hang, nil},
		"ensured": {hang, func(f *fixture) {
			e := lastOf(f)
			e.Payload = []byte("new")
			_, changed, err := f.Ensure(f.t.Context(), e)
			require.NoError(f.t, err)
			require.True(f.t, changed)
			require.Equal(f.t, []string{"k"}, f.keys())
		}},
		"paused": {hang, func(f *fixture) {
			require.NoError(f.t, f.Pause(f.t.Context(), durable.Pause{Scope: durable.Scope{All: true}}))
			time.AfterFunc(150*time.Second, func() { assert.NoError(f.t, f.Resume(f.t.Context(), durable.Scope{All: true})) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				o := durable.WorkOptions{DrainTimeout: -1}
				end := f.lastOccurrence(c.first, o)
				time.Sleep(10*time.Second + 500*time.Millisecond)
				end()
				if c.then != nil {
					c.then(f)
				}
				time.Sleep(2 * time.Minute)
				defer f.work(nil, nil)()
				time.Sleep(time.Minute)
				fired := f.firings()
				require.Len(t, fired, 2)
				assert.Equal(t, fired[0].ID, fired[1].ID)
				assert.True(t, fired[1].NotAfter.IsZero())
				assert.Empty(t, f.keys())
				assert.Zero(t, f.stats().Missed)
			})
		})
	}
}

func TestSetOverABegunLastOccurrenceLosesNone(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.lastOccurrence(hang, durable.WorkOptions{DrainTimeout: -1})
		time.Sleep(11 * time.Second)
		end()
		e := lastOf(f)
		e.Every.Spec = "@every 2h"
		e.Due = f.start.Add(2 * time.Hour)
		_, changed, err := f.Ensure(f.t.Context(), e)
		require.NoError(t, err)
		require.True(t, changed)
		time.Sleep(2 * time.Minute)
		defer f.work(nil, nil)()
		time.Sleep(2 * time.Hour)
		fired := f.firings()
		require.Len(t, fired, 3)
		assert.Equal(t, fired[0].ID, fired[1].ID)
		assert.Equal(t, "@every 2h", fired[2].Every.Spec)
		assert.Equal(t, []string{"k"}, f.keys())
	})
}

// A Move of the last occurrence makes a new firing of it, and revives no series.
func TestMovedLastOccurrenceFiresOnce(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.lastOccurrence(func(context.Context, durable.Firing) error { return durable.RetryAfter(time.Hour) }, durable.WorkOptions{})
		time.Sleep(11 * time.Second)
		end()
		_, err := f.Move(f.t.Context(), "k", time.Now())
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		defer f.work(nil, nil)()
		time.Sleep(3 * time.Hour)
		require.Len(t, f.firings(), 2)
		assert.Empty(t, f.keys())
	})
}

// The first occurrence is retried when the last one is due again.
func TestPostponedLastOccurrenceIsNotSkipped(t *testing.T) {
	inBubble(t, func(f *fixture) {
		spec := "END=" + f.start.Add(25*time.Second).UTC().Format(time.RFC3339) + " @every 10s"
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: f.start.Add(10 * time.Second), Every: durable.Every{Spec: spec}})
		require.NoError(t, err)
		end := f.work(func(_ context.Context, firing durable.Firing) error {
			switch len(f.firings()) {
			case 1:
				return durable.RetryAfter(15 * time.Second)
			case 2:
				return durable.Postpone(10 * time.Second)
			case 3:
				time.Sleep(20 * time.Second)
			}
			return nil
		}, nil)
		time.Sleep(time.Minute)
		end()
		require.Len(t, f.times(), 4)
		assert.Equal(t, seconds(10, 20, 25), f.times()[:3])
		assert.Equal(t, f.fired[1].ID, f.fired[3].ID)
		assert.GreaterOrEqual(t, f.at[3], 45*time.Second)
		assert.Zero(t, f.stats().Missed)
	})
}

// stale makes a Work hold a copy of an occurrence for 22 s, while a handler runs. Another Work claims the occurrence, and
// ends with release.
func (f *fixture) stale(series durable.Entry) (end, release func()) {
	f.t.Helper()
	for i := range 9 { // a running handler, and a full queue
		f.setIn(fmt.Sprint("busy", i), -time.Minute)
	}
	_, err := f.Set(f.t.Context(), series)
	require.NoError(f.t, err)
	end = f.work(func(_ context.Context, firing durable.Firing) error {
		if firing.Key == "busy0" {
			time.Sleep(22 * time.Second)
		}
		return nil
	}, &durable.WorkOptions{Concurrency: 1})
	time.Sleep(time.Second)
	release = f.work(hang, &durable.WorkOptions{DrainTimeout: -1})
	time.Sleep(5 * time.Second)
	require.Equal(f.t, []string{"busy0", "series"}, f.firedKeys())
	return end, release
}

// Cancel ends the series while the occurrence is claimed.
func TestStaleCopyRevivesNoSeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end, release := f.stale(durable.Entry{Key: "series", Due: f.start.Add(-time.Second), Every: durable.Every{Spec: "@every 1h"}})
		defer end()
		_, err := f.Cancel(f.t.Context(), "series")
		require.NoError(t, err)
		release()
		time.Sleep(3 * time.Hour)
		assert.Len(t, f.times(), 11)
		assert.Empty(t, f.keys())
	})
}

// The copy is replaced before its turn, so that no look need find the occurrence again.
func TestReleasedOccurrenceFiresInItsTurn(t *testing.T) {
	last := func(f *fixture) durable.Every {
		return durable.Every{Spec: "END=" + f.start.UTC().Format(time.RFC3339) + " @every 1h", Missed: clock.Missed{MaxLateness: 10 * time.Second}}
	}
	for name, every := range map[string]func(f *fixture) durable.Every{
		"hourly": func(*fixture) durable.Every { return durable.Every{Spec: "@every 1h"} }, "last": last,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				end, release := f.stale(durable.Entry{Key: "series", Due: f.start.Add(-time.Second), Every: every(f)})
				defer end()
				release()
				time.Sleep(time.Minute)
				fired := f.firings()
				require.Len(t, fired, 11)
				for i, firing := range fired[2:] {
					assert.Equal(t, 22*time.Second, f.times()[i+2].Truncate(time.Second), firing.Key)
				}
				assert.Equal(t, 1, strings.Count(strings.Join(f.firedKeys()[2:], " "), "series"))
				assert.Zero(t, f.stats().Overtaken)
			})
		})
	}
}
