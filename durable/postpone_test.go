package durable_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// Of each firing, the entry is postponed twice, and then fails twice.
func TestPostponedAttemptDoesNotCount(t *testing.T) {
	for name, d := range map[string]time.Duration{"near": 300 * time.Millisecond, "far": 10 * time.Minute, "negative": -time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				a, calls := newAudit(), 0
				end := f.work(func(context.Context, durable.Firing) error {
					if calls++; calls <= 2 {
						return fmt.Errorf("not yet: %w", durable.Postpone(d))
					}
					return durable.RetryAfter(time.Minute)
				}, &durable.WorkOptions{MaxAttempts: 2, OnOutcome: a.note})
				f.setIn("k", 0)
				time.Sleep(22 * time.Minute)
				end()
				fired := f.firings()
				require.Len(t, fired, 4)
				for i, attempt := range []int{1, 1, 1, 2} {
					assert.Equal(t, attempt, fired[i].Attempt)
					assert.Equal(t, fired[0].ID, fired[i].ID)
					assert.Equal(t, []byte("k"), fired[i].Payload)
				}
				assert.GreaterOrEqual(t, fired[1].Due.Sub(fired[0].Due), max(d, 0))
				assert.Less(t, fired[1].Due.Sub(fired[0].Due), max(d, 0)+time.Second)
				assert.Greater(t, fired[1].Generation, fired[0].Generation)
				require.Len(t, a.runs["k"], 2, "calls of OnOutcome")
				require.Len(t, f.dead(), 1)
				assert.Equal(t, 2, f.dead()[0].Attempt)
				st := f.stats()
				assert.Equal(t, [...]int64{4, 2, 1, 1, 0}, [...]int64{st.Fired, st.Postponed, st.Retried, st.GivenUp, st.Succeeded})
			})
		})
	}
}

func TestPostponedEntryExpiresAtItsNotAfter(t *testing.T) {
	inBubble(t, func(f *fixture) {
		a := newAudit()
		end := f.work(func(context.Context, durable.Firing) error { return durable.Postpone(time.Minute) }, &durable.WorkOptions{OnOutcome: a.note})
		f.setIn("k", 0, notAfter(time.Now().Add(150*time.Second)))
		time.Sleep(10 * time.Minute)
		end()
		assert.Equal(t, seconds(0, 60, 120), f.times())
		require.Len(t, f.dead(), 1)
		assert.Equal(t, durable.Expired, f.dead()[0].Reason)
		require.Len(t, a.runs["k"], 1)
		assert.Equal(t, durable.Expired, a.runs["k"][0].Reason())
		assert.Equal(t, f.start.Add(2*time.Minute).UTC(), a.runs["k"][0].Began)
	})
}

// The end of Work interrupts the attempt, which then says how long the entry has time.
func TestPostponeOfAnInterruptedAttemptHolds(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			<-ctx.Done()
			return durable.Postpone(time.Hour)
		}, &durable.WorkOptions{DrainTimeout: -1})
		f.setIn("k", 0)
		time.Sleep(time.Minute)
		end()
		e, err := f.Get(f.t.Context(), "k")
		require.NoError(t, err)
		assert.Equal(t, 1, e.Attempt)
		assert.Equal(t, f.start.Add(61*time.Minute).UTC(), e.Due.Truncate(time.Second))
	})
}

func TestPostponedOccurrenceWaitsBesideItsSeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		calls := 0
		end := f.work(func(context.Context, durable.Firing) error {
			if calls++; calls == 1 {
				return durable.Postpone(95 * time.Second)
			}
			return nil
		}, nil)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1m"}})
		require.NoError(t, err)
		time.Sleep(200 * time.Second)
		end()
		assert.Equal(t, seconds(60, 120, 155, 180), f.times())
		assert.Equal(t, f.firings()[0].ID, f.firings()[2].ID)
	})
}

func TestPostponedEntryCanBeCancelledAndMoved(t *testing.T) {
	for name, verb := range map[string]func(f *fixture) error{
		"cancel": func(f *fixture) error { _, err := f.Cancel(f.t.Context(), "k"); return err },
		"move": func(f *fixture) error {
			_, err := f.Move(f.t.Context(), "k", time.Now().Add(24*time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				defer f.work(func(context.Context, durable.Firing) error { return durable.Postpone(5 * time.Minute) }, nil)()
				f.setIn("k", 0)
				time.Sleep(time.Minute)
				require.NoError(t, verb(f))
				time.Sleep(10 * time.Minute)
				assert.Len(t, f.times(), 1)
			})
		})
	}
}

func TestErrorsOfHandlersHaveTexts(t *testing.T) {
	for want, err := range map[string]error{
		"durable: postponed by 1h0m0s":   durable.Postpone(time.Hour),
		"durable: postponed by 0s":       durable.Postpone(-1),
		"durable: retry after 1m0s":      durable.RetryAfter(time.Minute),
		"durable: given up: no such job": durable.GiveUp(fmt.Errorf("no such job")),
	} {
		t.Run(want, func(t *testing.T) { assert.EqualError(t, err, want) })
	}
}

// Times of a backend end in the year 2262.
func TestLongPauseEndsInTheYear2262(t *testing.T) {
	for name, err := range map[string]error{"retry": durable.RetryAfter(math.MaxInt64), "postpone": durable.Postpone(math.MaxInt64)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				defer f.work(func(context.Context, durable.Firing) error { return err }, nil)()
				f.setIn("k", time.Second)
				time.Sleep(time.Hour)
				assert.Equal(t, seconds(1), f.times())
				e, err := f.Get(f.t.Context(), "k")
				require.NoError(t, err)
				assert.Equal(t, time.Unix(0, math.MaxInt64).UTC(), e.Due)
			})
		})
	}
}

// An entry is not retried after its NotAfter. The dead letter has the error of the attempt.
func TestRetryAfterNotAfterIsADeadLetter(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		fired int
	}{"in time": {3 * time.Second, 2}, "too late": {5 * time.Second, 1}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				defer f.work(func(_ context.Context, firing durable.Firing) error {
					if firing.Attempt > 1 {
						return nil
					}
					return fmt.Errorf("no connection: %w", durable.RetryAfter(c.pause))
				}, nil)()
				f.setIn("k", time.Second, notAfter(f.start.Add(5*time.Second)))
				time.Sleep(time.Minute)
				assert.Len(t, f.times(), c.fired)
				assert.Empty(t, f.keys())
				dead := f.dead()
				require.Len(t, dead, 2-c.fired)
				for _, letter := range dead {
					assert.Equal(t, durable.Failed, letter.Reason)
					assert.Contains(t, letter.Error, "no connection")
					assert.Equal(t, f.start.Add(time.Second).UTC(), letter.GivenUp.Truncate(time.Second), "when the attempt ended")
				}
			})
		})
	}
}
