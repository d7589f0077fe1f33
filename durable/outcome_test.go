package durable_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// audit collects the calls of OnOutcome.
type audit struct {
	mu   sync.Mutex
	runs map[string][]durable.Run // by key. Guarded by mu.
	ids  map[string]string        // Guarded by mu.
}

func (a *audit) note(_ context.Context, e durable.Ended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[e.Key] = append(a.runs[e.Key], e.Run)
	a.ids[e.Key] = e.ID
}

func newAudit() *audit {
	return &audit{runs: make(map[string][]durable.Run), ids: make(map[string]string)}
}

func TestOnOutcomeSeesEachOutcome(t *testing.T) {
	inBubble(t, func(f *fixture) {
		a := newAudit()
		f.setIn("crashed", 0)
		f.crash("crashed")
		f.setIn("expired", 0, notAfter(time.Now()))
		time.Sleep(time.Second)
		for _, key := range []string{"fails", "fine", "given up", "interrupted"} {
			f.setIn(key, 0)
		}
		_, err := f.Set(t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 1m"}})
		require.NoError(t, err)
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			time.Sleep(time.Second)
			switch firing.Key {
			case "fails":
				return fmt.Errorf("attempt %d: %w", firing.Attempt, durable.RetryAfter(10*time.Second))
			case "given up":
				return durable.GiveUp(errors.New("no such order"))
			case "interrupted":
				return hang(ctx, firing)
			}
			return nil
		}, &durable.WorkOptions{MaxCrashes: 1, MaxAttempts: 2, DrainTimeout: -1, OnOutcome: a.note})
		time.Sleep(70 * time.Second)
		end()
		a.mu.Lock()
		defer a.mu.Unlock()
		outcomes := map[string]string{}
		for key, runs := range a.runs {
			for _, r := range runs {
				outcomes[key] += fmt.Sprintf("%d %v %v %v;", r.Attempt, r.Outcome, r.Reason(), r.Took)
			}
			assert.Equal(t, runs[0].Began.IsZero(), key == "crashed" || key == "expired", key)
		}
		assert.Equal(t, map[string]string{
			"crashed":  "1 gave up crashed 0s;",
			"expired":  "1 gave up expired 0s;",
			"fails":    "1 retried none 1s;2 gave up failed 1s;",
			"fine":     "1 succeeded none 1s;",
			"given up": "1 gave up failed 1s;",
			"series":   "1 succeeded none 1s;",
		}, outcomes)
		assert.Equal(t, "attempt 1: durable: retry after 10s", a.runs["fails"][0].Error)
		for _, letter := range f.dead() {
			assert.Equal(t, letter.ID, a.ids[letter.Key])
			assert.Equal(t, letter.Error, a.runs[letter.Key][len(a.runs[letter.Key])-1].Error)
		}
		assert.Equal(t, []string{"interrupted", "series"}, f.keys())
	})
}

func TestOnOutcomeThatPanicsLosesNoOutcome(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("no") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.setIn("expired", 0, notAfter(time.Now()))
				time.Sleep(time.Second)
				for i := range 3 {
					f.setIn(fmt.Sprint(i), 0)
				}
				end := f.work(nil, &durable.WorkOptions{Concurrency: 1, OnOutcome: func(context.Context, durable.Ended) { fail() }})
				time.Sleep(10 * time.Second)
				end()
				assert.Len(t, f.times(), 3)
				assert.Len(t, f.dead(), 1)
				assert.Empty(t, f.keys())
			})
		})
	}
}

// slowClaims is a database that answers claims slowly once they repeat a claim.
type slowClaims struct{ *faulty }

func (s slowClaims) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	if claims[0].Again {
		time.Sleep(3 * time.Second)
	}
	return s.faulty.Claim(ctx, worker, claims)
}

// The handler returns at its Timeout. What comes afterwards takes three seconds.
func TestHandlerEndsBeforeItsOutcomeIsKnown(t *testing.T) {
	for name, inTx := range map[string]bool{"slow answer to Done": true, "slow OnOutcome": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				s, err := durable.New(f.t.Context(), slowClaims{f.b}, &durable.Options{Logger: f.log.logger()})
				require.NoError(t, err)
				f.Store = s
				var took []time.Duration
				end := f.work(func(ctx context.Context, firing durable.Firing) error {
					if inTx {
						db, err := f.b.Begin(ctx)
						require.NoError(t, err)
						require.NoError(t, durable.NewTx(s, db).Done(ctx, firing))
						require.NoError(t, db.Commit())
					}
					return hang(ctx, firing)
				}, &durable.WorkOptions{Timeout: 10 * time.Second, MaxAttempts: 1, OnOutcome: func(_ context.Context, e durable.Ended) {
					if took = append(took, e.Run.Took); !inTx {
						time.Sleep(3 * time.Second)
					}
				}})
				f.setIn("k", 0)
				time.Sleep(12 * time.Second)
				st := f.stats()
				assert.Equal(t, []int64{0, 0}, []int64{st.Overtime, st.Running}, "overtime and running")
				assert.Zero(t, st.Longest)
				time.Sleep(time.Minute)
				end()
				assert.Equal(t, seconds(10), took)
				assert.NotContains(t, f.log.String(), "has ignored the end of its context")
			})
		})
	}
}

func TestOnOutcomeMayCloseTheStore(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ended := make(chan error, 1)
		go func() {
			ended <- f.Work(f.t.Context(), func(context.Context, durable.Firing) error { return nil },
				&durable.WorkOptions{OnOutcome: func(context.Context, durable.Ended) { assert.NoError(t, f.Close()) }})
		}()
		f.setIn("k", 0)
		require.ErrorIs(t, <-ended, durable.ErrClosed)
	})
}
