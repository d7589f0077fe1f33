package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

func TestStatsCountOperations(t *testing.T) {
	for name, c := range map[string]struct {
		call                  func(ctx context.Context, e durable.Entries) error
		set, moved, cancelled int64
	}{
		"Set":        {func(ctx context.Context, e durable.Entries) error { return second(e.Set(ctx, plain("k"))) }, 1, 0, 0},
		"Create":     {func(ctx context.Context, e durable.Entries) error { return second(e.Create(ctx, plain("new"))) }, 1, 0, 0},
		"Move":       {func(ctx context.Context, e durable.Entries) error { return second(e.Move(ctx, "k", plain("").Due)) }, 0, 1, 0},
		"Cancel":     {func(ctx context.Context, e durable.Entries) error { return second(e.Cancel(ctx, "k")) }, 0, 0, 1},
		"CancelMany": {func(ctx context.Context, e durable.Entries) error { return second(e.CancelMany(ctx, everything)) }, 0, 0, 1},
		"Get":        {func(ctx context.Context, e durable.Entries) error { return second(e.Get(ctx, "k")) }, 0, 0, 0},
		"SetMany": {func(ctx context.Context, e durable.Entries) error {
			return second(e.SetMany(ctx, slices.Values([]durable.Entry{plain("a"), plain("b")})))
		}, 2, 0, 0},
		"a failed Create": {func(ctx context.Context, e durable.Entries) error {
			if _, err := e.Create(ctx, plain("k")); !errors.Is(err, durable.ErrExists) {
				return fmt.Errorf("expected ErrExists: %w", err)
			}
			return nil
		}, 0, 0, 0},
	} {
		for _, inTx := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/transaction=%t", name, inTx), func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					f.setIn("k", time.Hour)
					before, ctx := f.stats(), f.t.Context()
					if inTx { // rolled back
						tx, err := f.b.Begin(ctx)
						require.NoError(t, err)
						require.NoError(t, c.call(ctx, durable.NewTx(f.Store, tx).Entries))
						require.NoError(t, tx.Rollback())
					} else {
						require.NoError(t, c.call(ctx, f.Entries))
					}
					after := f.stats()
					assert.Equal(t, [3]int64{c.set, c.moved, c.cancelled},
						[3]int64{after.Set - before.Set, after.Moved - before.Moved, after.Cancelled - before.Cancelled})
				})
			})
		}
	}
}

func TestStatsCountDueEntriesByRange(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i, d := range []time.Duration{-time.Second, 500 * time.Millisecond, 30 * time.Second, 30 * time.Minute, 12 * time.Hour, 48 * time.Hour} {
			f.setIn(fmt.Sprint(i), d)
		}
		st := f.stats()
		assert.Equal(t, []durable.DueCount{{0, 1}, {time.Second, 2}, {time.Minute, 3}, {time.Hour, 4}, {24 * time.Hour, 5}}, st.Due)
		assert.EqualValues(t, 6, st.Pending)
		assert.Equal(t, time.Second, st.Overdue)
		assert.Equal(t, f.start, st.Time)
	})
}

func TestStatsShowRunningHandlers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("a/", func(ctx context.Context, _ durable.Firing) error { time.Sleep(time.Minute); return nil }, nil)
		m.Handle("b/", func(ctx context.Context, _ durable.Firing) error { time.Sleep(10 * time.Second); return nil }, nil)
		defer f.workMux(&m)()
		f.setIn("a/1", 0)
		f.setIn("b/1", 20*time.Second)
		f.setIn("b/2", 25*time.Second)
		f.setIn("c/1", time.Second)
		time.Sleep(28 * time.Second)
		st := f.stats()
		assert.EqualValues(t, 3, st.Running)
		assert.InDelta(t, 28, st.Longest.Seconds(), 0.1)
		assert.EqualValues(t, 3, st.Claimed)
		assert.EqualValues(t, 1, st.Pending, "of a kind without a handler")
		require.Len(t, st.Kinds, 2)
		assert.EqualValues(t, 1, st.Kinds[0].Running)
		assert.EqualValues(t, 2, st.Kinds[1].Running)
		assert.InDelta(t, 8, st.Kinds[1].Longest.Seconds(), 0.1)
		assert.Greater(t, st.Overdue, 20*time.Second)
		time.Sleep(time.Minute)
		st = f.stats()
		assert.Zero(t, st.Running)
		assert.Zero(t, st.Longest)
		assert.Zero(t, st.Claimed)
		assert.EqualValues(t, 3, st.Succeeded)
	})
}

func TestStatsCountErrorsOfTheDatabase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		assert.Zero(t, f.stats().Errors)
		f.b.set("Lease", errors.New("the server restarts"))
		time.Sleep(10 * time.Second)
		f.b.set("Lease", nil)
		st := f.stats()
		assert.Positive(t, st.Errors)
		assert.Equal(t, "the server restarts", st.LastError)
		assert.WithinDuration(t, time.Now(), st.LastErrorTime, 3*time.Second)
		time.Sleep(time.Minute)
		assert.LessOrEqual(t, f.stats().Errors, st.Errors+1)
	})
}

func TestClockOffsetIsInStats(t *testing.T) {
	for _, offset := range []time.Duration{0, time.Hour, -time.Minute} {
		t.Run(offset.String(), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.b.shift(offset)
				defer f.work(nil, nil)()
				time.Sleep(time.Second)
				assert.Equal(t, offset, f.stats().ClockOffset)
				assert.Zero(t, f.stats().ClockError)
			})
		})
	}
}

// Lateness is the time from Due to the call of the handler, on the database's clock.
func TestFiringSaysHowLateItIs(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second, time.Hour} {
		t.Run(late.String(), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.b.shift(time.Minute)
				defer f.work(nil, nil)()
				time.Sleep(time.Second)
				due := time.Now().Add(time.Minute - late)
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: due})
				require.NoError(t, err)
				time.Sleep(10 * time.Second)
				require.Len(t, f.firings(), 1)
				assert.InDelta(t, late.Seconds(), f.firings()[0].Lateness.Seconds(), 0.2)
				assert.GreaterOrEqual(t, f.firings()[0].Lateness, late)
				assert.Equal(t, f.firings()[0].Lateness, f.stats().Lateness.Sum)
			})
		})
	}
}

// An ID is of one firing: a Move, a Set, and the next occurrence get new ones.
func TestIDNamesOneFiring(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		end := f.work(nil, nil)
		for range 3 {
			f.setIn("k", 0)
			time.Sleep(time.Second)
		}
		f.setIn("moved", time.Hour)
		_, err := f.Move(ctx, "moved", time.Now())
		require.NoError(t, err)
		_, err = f.Set(ctx, durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 1s"}})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		end()
		ids := map[string]bool{}
		for _, firing := range f.firings() {
			assert.NotEmpty(t, firing.ID)
			ids[firing.ID] = true
		}
		assert.Len(t, ids, len(f.firings()))
		assert.GreaterOrEqual(t, len(ids), 8)
	})
}

// Entries before the failed one are stored.
func TestSetManyEndsAtTheFirstError(t *testing.T) {
	for _, bad := range []int{0, 1, 999, 4096, 5000} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				n, err := f.SetMany(f.t.Context(), func(yield func(durable.Entry) bool) {
					for i := range 5001 {
						e := plain(fmt.Sprintf("%04d", i))
						if i == bad {
							e.Group = string(make([]byte, 129))
						}
						if !yield(e) {
							return
						}
					}
				})
				require.ErrorIs(t, err, durable.ErrInvalid)
				require.ErrorContains(t, err, fmt.Sprintf(`SetMany "%04d"`, bad))
				assert.Equal(t, bad, n)
				assert.Len(t, f.keys(), bad)
			})
		})
	}
}

// Specs without CRON_TZ are in UTC, and "@every" counts from the first occurrence.
func TestFirstOccurrenceFollowsNow(t *testing.T) {
	for spec, want := range map[string]string{
		"@every 90s":                         "2000-01-01T00:01:30Z",
		"@daily":                             "2000-01-02T00:00:00Z",
		"30 9 * * *":                         "2000-01-01T09:30:00Z",
		"CRON_TZ=Europe/Berlin 30 9 * * *":   "2000-01-01T08:30:00Z",
		"CRON_TZ=Europe/Berlin 30 9 * * 1-5": "2000-01-03T08:30:00Z",
	} {
		t.Run(spec, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				for _, store := range []func() (durable.Entry, error){
					func() (durable.Entry, error) {
						return f.Set(f.t.Context(), durable.Entry{Key: "set", Every: durable.Every{Spec: spec}})
					},
					func() (durable.Entry, error) {
						e, changed, err := f.Ensure(f.t.Context(), durable.Entry{Key: "ensured", Every: durable.Every{Spec: spec}})
						assert.True(t, changed)
						return e, err
					},
				} {
					e, err := store()
					require.NoError(t, err)
					assert.Equal(t, want, e.Due.Format(time.RFC3339))
				}
			})
		})
	}
}

// Each kind has its own options.
func TestKindsHaveOptions(t *testing.T) {
	inBubble(t, func(f *fixture) {
		fail := func(context.Context, durable.Firing) error { return errors.New("no") }
		var mu sync.Mutex
		outcomes := map[string]int{}
		count := func(_ context.Context, e durable.Ended) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[e.Kind()]++
		}
		var m durable.Mux
		m.Handle("once/", f.noted("", fail), &durable.WorkOptions{MaxAttempts: 1, OnOutcome: count})
		m.Handle("thrice/", f.noted("", fail), &durable.WorkOptions{MaxAttempts: 3, BaseBackoff: time.Millisecond, Concurrency: 1, OnOutcome: count})
		m.Handle("/", f.noted("", fail), &durable.WorkOptions{MaxAttempts: 2, BaseBackoff: time.Millisecond})
		end := f.workMux(&m)
		for _, key := range []string{"once/1", "thrice/1", "plain", "other/1"} {
			f.setIn(key, 0)
		}
		time.Sleep(time.Minute)
		end()
		attempts := map[string]int{}
		for _, letter := range f.dead() {
			attempts[letter.Key] = letter.Attempt
		}
		assert.Equal(t, map[string]int{"once/1": 1, "thrice/1": 3, "plain": 2, "other/1": 2}, attempts)
		assert.Equal(t, map[string]int{"once": 1, "thrice": 3}, outcomes)
	})
}

// The context of OnOutcome has the values of Work's, and ends with the handlers' contexts.
func TestOnOutcomeHasTheContextOfTheWork(t *testing.T) {
	type key struct{}
	inBubble(t, func(f *fixture) {
		ctx, cancel := context.WithCancel(context.WithValue(f.t.Context(), key{}, "value"))
		var value any
		var ended time.Duration
		done := make(chan error, 1)
		go func() {
			done <- f.Work(ctx, func(context.Context, durable.Firing) error { return nil }, &durable.WorkOptions{DrainTimeout: 20 * time.Second,
				OnOutcome: func(ctx context.Context, e durable.Ended) {
					value = ctx.Value(key{})
					<-ctx.Done()
					ended = time.Since(f.start)
				}})
		}()
		f.setIn("k", 0)
		time.Sleep(time.Minute)
		cancel()
		require.NoError(t, <-done)
		assert.Equal(t, "value", value)
		assert.Equal(t, 80*time.Second, ended.Truncate(time.Second))
		assert.Empty(t, f.keys(), "the outcome is stored")
		assert.Len(t, f.b.Rows("k"), 0)
	})
}
