package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// awkward are keys in the order of their bytes.
var awkward = []string{"\x00", "\x00\x00", "a", "a\x00", "a/", "a/1", "a/2", "a0", "b/1", "ä", "\xff", "\xff\xff"}

func TestSequencesHaveTheOrderOfKeys(t *testing.T) {
	for _, prefix := range []string{"", "a", "a/", "a\x00", "\xff", "zzz"} {
		var want []string
		for _, key := range awkward {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		t.Run(fmt.Sprintf("%q", prefix), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx := f.t.Context()
				f.bury("no", awkward...)
				for _, key := range slices.Backward(awkward) {
					f.setIn(key, time.Hour, func(e *durable.Entry) { e.Every.Spec = "@every 1h" })
				}
				var pending, dead, series []string
				for e, err := range f.All(ctx, prefix) {
					require.NoError(t, err)
					pending = append(pending, e.Key)
				}
				for d, err := range f.Dead(ctx, prefix) {
					require.NoError(t, err)
					dead = append(dead, d.Key)
				}
				for s, err := range f.Series(ctx, prefix) {
					require.NoError(t, err)
					series = append(series, s.Key)
				}
				assert.Equal(t, want, pending)
				assert.Equal(t, want, dead)
				assert.Equal(t, want, series)
			})
		})
	}
}

// A page has up to 500 rows, and a loop may end in any of them.
func TestSequencesEndWithTheLoop(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		_, err := f.SetMany(ctx, func(yield func(durable.Entry) bool) {
			for i := range 1300 {
				if !yield(durable.Entry{Key: fmt.Sprintf("%04d", i), Every: durable.Every{Spec: "@daily"}}) {
					return
				}
			}
		})
		require.NoError(t, err)
		for _, n := range []int{1, 499, 500, 501, 1300} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				entries, series := 0, 0
				for range f.All(ctx, "") {
					if entries++; entries == n {
						break
					}
				}
				for range f.Series(ctx, "") {
					if series++; series == n {
						break
					}
				}
				assert.Equal(t, n, entries)
				assert.Equal(t, n, series)
			})
		}
	})
}

func TestDeadLettersOfAKeyFollowTheirGenerations(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for range 3 {
			f.bury("no", "k")
		}
		dead := f.dead()
		require.Len(t, dead, 3)
		assert.True(t, slices.IsSortedFunc(dead, func(a, b durable.DeadLetter) int { return int(a.Generation) - int(b.Generation) }))
		for _, d := range dead {
			assert.Equal(t, "durable: given up: no", d.Error)
			assert.False(t, d.GivenUp.Before(d.Due))
			assert.Equal(t, time.UTC, d.GivenUp.Location())
		}
	})
}

// Waiting retries of a series follow its pending occurrence under the same key, and are no series.
func TestRetriesFollowTheirSeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(context.Context, durable.Firing) error { return durable.RetryAfter(time.Hour) }, nil)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1m"}})
		require.NoError(t, err)
		time.Sleep(3*time.Minute + time.Second)
		end()
		var attempts []int
		for e, err := range f.All(f.t.Context(), "") {
			require.NoError(t, err)
			attempts = append(attempts, e.Attempt)
		}
		assert.Equal(t, []int{1, 2, 2, 2}, attempts)
		n := 0
		for s, err := range f.Series(f.t.Context(), "") {
			require.NoError(t, err)
			assert.Equal(t, durable.Retried, s.Last.Outcome)
			n++
		}
		assert.Equal(t, 1, n)
	})
}

func TestFieldsOfAnEntrySurvive(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for name, e := range map[string]durable.Entry{
		"smallest":      {Key: "k", Due: time.Unix(0, 1)},
		"nanoseconds":   {Key: "k", Due: time.Date(2100, 1, 2, 3, 4, 5, 678901234, berlin)},
		"largest":       {Key: strings.Repeat("k", 512), Due: time.Now().Add(time.Hour), Payload: bytes.Repeat([]byte{0, 255}, 1<<19), Group: strings.Repeat("g", 128)},
		"empty payload": {Key: "k", Due: time.Now().Add(time.Hour), Payload: []byte{}},
		"bytes":         {Key: "\x00\xff", Due: time.Now().Add(time.Hour), Group: "\x00\xff", Headers: map[string]string{"\x00": "", "\xff": "\x00"}},
		"limits":        {Key: "k", Due: time.Now().Add(time.Hour), NotAfter: time.Now().Add(time.Hour)},
		"series":        {Key: "k", Due: time.Now().Add(time.Hour), Every: durable.Every{Spec: "CRON_TZ=Europe/Berlin 30 9 * * 1-5"}},
		"named":         {Key: "k", Due: time.Now().Add(time.Hour), Every: durable.Every{Schedule: "nightly"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				want := e
				want.Due, want.Attempt = e.Due.UTC(), 1
				if !e.NotAfter.IsZero() {
					want.NotAfter = e.NotAfter.UTC()
				}
				if len(e.Payload) == 0 {
					want.Payload = nil
				}
				e.Attempt, e.Generation = 17, 1<<60 // which Set fills in
				stored, err := f.Set(f.t.Context(), e)
				require.NoError(t, err)
				want.Generation = stored.Generation
				require.Less(t, stored.Generation, uint64(1<<60))
				got, err := f.Get(f.t.Context(), e.Key)
				require.NoError(t, err)
				for _, each := range []durable.Entry{stored, got} {
					assert.True(t, want.Due.Equal(each.Due))
					assert.Equal(t, want.Due.Round(0), each.Due)
					want.Due, want.NotAfter = each.Due, each.NotAfter
					assert.Equal(t, want, each)
				}
			})
		})
	}
}

func TestPausesAndLimitsAreOrdered(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		scopes := []durable.Scope{{All: true}, {Group: "b"}, {Prefix: "a/"}, {Prefix: "a/", Group: "a"}, {Prefix: "b/"}}
		for i, scope := range slices.Backward(scopes) {
			for _, reason := range []string{"first", "second"} { // which replaces it
				require.NoError(t, f.Pause(ctx, durable.Pause{Scope: scope, Reason: reason, By: "me", Since: time.Unix(1, 0)}))
				require.NoError(t, f.Limit(ctx, scope, durable.Limit{Running: i + len(reason)}))
			}
		}
		pauses, err := f.Paused(ctx)
		require.NoError(t, err)
		limits, err := f.Limits(ctx)
		require.NoError(t, err)
		require.Len(t, pauses, len(scopes))
		require.Len(t, limits, len(scopes))
		for i, scope := range scopes {
			assert.Equal(t, durable.Pause{Scope: scope, Reason: "second", By: "me", Since: f.start.UTC()}, pauses[i])
			assert.Equal(t, durable.LimitUse{Scope: scope, Limit: durable.Limit{Running: i + len("second")}}, limits[i])
		}
	})
}

func TestEntryInTwoPausesWaitsForBoth(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		scopes := []durable.Scope{{Group: "g"}, {Prefix: "k"}, {All: true}}
		for _, scope := range scopes {
			require.NoError(t, f.Pause(ctx, durable.Pause{Scope: scope}))
		}
		defer f.work(nil, nil)()
		f.setIn("k", 0, func(e *durable.Entry) { e.Group = "g" })
		for _, scope := range scopes {
			time.Sleep(time.Minute)
			require.Empty(t, f.times())
			require.NoError(t, f.Resume(ctx, scope))
		}
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 1)
	})
}

func TestOutcomesAndReasonsHaveNames(t *testing.T) {
	for want, value := range map[string]fmt.Stringer{
		"succeeded": durable.Succeeded, "retried": durable.Retried, "gave up": durable.GaveUp,
		"Outcome(7)": durable.Outcome(7), "Outcome(-1)": durable.Outcome(-1), "Reason(9)": durable.Reason(9),
		"none": durable.Reason(0), "failed": durable.Failed, "expired": durable.Expired, "crashed": durable.Crashed,
	} {
		t.Run(want, func(t *testing.T) { assert.Equal(t, want, value.String()) })
	}
	assert.Zero(t, (&durable.Run{Outcome: durable.Retried, Error: "no"}).Reason())
	assert.Equal(t, durable.Failed, (&durable.Run{Outcome: durable.GaveUp, Error: "no"}).Reason())
}

func TestGiveUpWrapsItsCause(t *testing.T) {
	cause := errors.New("no such order")
	require.ErrorIs(t, durable.GiveUp(cause), cause)
}
