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
