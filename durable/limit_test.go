package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// gauge counts the running handlers of each kind and group.
type gauge struct {
	mu      sync.Mutex
	running map[string]int
	most    map[string]int
	begun   map[string][]time.Time
}

func newGauge() *gauge {
	return &gauge{running: make(map[string]int), most: make(map[string]int), begun: make(map[string][]time.Time)}
}

// names returns the names under which an entry counts.
func names(e *durable.Entry) []string {
	kind, _, _ := strings.Cut(e.Key, "/")
	return []string{"", kind, "group " + e.Group, kind + " " + e.Group}
}

// handler returns a handler that takes a time.
func (g *gauge) handler(took time.Duration) durable.Handler {
	return func(ctx context.Context, f durable.Firing) error {
		g.mu.Lock()
		for _, name := range names(&f.Entry) {
			g.running[name]++
			g.most[name] = max(g.most[name], g.running[name])
			g.begun[name] = append(g.begun[name], time.Now())
		}
		g.mu.Unlock()
		time.Sleep(took)
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, name := range names(&f.Entry) {
			g.running[name]--
		}
		return nil
	}
}

// reset begins to measure most again, from the handlers that run.
func (g *gauge) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, n := range g.running {
		g.most[name] = n
	}
}

func (g *gauge) mostOf(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most[name]
}

func (g *gauge) count(name string) int { return len(g.timesOf(name)) }

// timesOf returns the times at which handlers began.
func (g *gauge) timesOf(name string) []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.begun[name])
}

// fill stores n entries of a kind and a group that are due now.
func (f *fixture) fill(kind, group string, n int) {
	f.t.Helper()
	for i := range n {
		f.setIn(fmt.Sprintf("%s/%s%d", kind, group, i), 0, func(e *durable.Entry) { e.Group = group })
	}
}

func TestLimitBoundsHandlersOfAllWorks(t *testing.T) {
	for name, scope := range map[string]durable.Scope{"": {All: true}, "mail": {Prefix: "mail/"}, "group a": {Group: "a"}, "mail a": {Prefix: "mail/", Group: "a"}} {
		t.Run("scope "+name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				g := newGauge()
				require.NoError(t, f.Limit(f.t.Context(), scope, durable.Limit{Running: 5}))
				defer f.work(g.handler(time.Second), nil)()
				defer f.work(g.handler(time.Second), nil)()
				f.fill("mail", "a", 20)
				f.fill("mail", "b", 20)
				f.fill("sms", "a", 20)
				time.Sleep(30 * time.Second)
				synctest.Wait()
				assert.Len(t, f.times(), 60)
				assert.Equal(t, 5, g.mostOf(name))
				if name != "" {
					assert.Greater(t, g.mostOf(""), 20, "other scopes")
				}
				assert.Zero(t, f.stats().Limited)
			})
		})
	}
}

func TestLimitHoldsWhenItReturns(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g, scope := newGauge(), durable.Scope{Prefix: "mail/"}
		defer f.work(g.handler(time.Second), &durable.WorkOptions{MaxAttempts: -1})()
		defer f.work(g.handler(time.Second), nil)()
		f.fill("mail", "", 2000)
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, 128, g.mostOf("mail"))
		for _, running := range []int{40, 10, 30, 3} {
			require.NoError(t, f.Limit(f.t.Context(), scope, durable.Limit{Running: running}))
			g.reset()
			before := g.count("mail")
			within := g.mostOf("mail")
			time.Sleep(5 * time.Second)
			assert.LessOrEqual(t, g.mostOf("mail"), max(running, within))
			assert.InDelta(t, 5*running, g.count("mail")-before, float64(4*running), "after the limit %d", running)
			g.reset()
			time.Sleep(2 * time.Second)
			assert.Equal(t, running, g.mostOf("mail"))
		}
		uses, err := f.Limits(f.t.Context())
		require.NoError(t, err)
		require.Len(t, uses, 1)
		assert.LessOrEqual(t, uses[0].Held, 3) // one may be on its way to the other Work
		uses[0].Held = 3
		assert.Equal(t, durable.LimitUse{Scope: scope, Limit: durable.Limit{Running: 3}, Held: 3, Wants: 128}, uses[0])
		require.NoError(t, f.RemoveLimit(f.t.Context(), scope))
		err = f.RemoveLimit(f.t.Context(), scope)
		require.ErrorIs(t, err, durable.ErrNotFound)
		require.ErrorContains(t, err, "no limit of exactly this scope found")
		time.Sleep(3 * time.Second)
		assert.Equal(t, 128, g.mostOf("mail"))
	})
}

func TestRateBoundsHandlersThatBegin(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{Group: "a"}, durable.Limit{PerSecond: 50, Burst: 10}))
		defer f.work(g.handler(10*time.Millisecond), nil)()
		defer f.work(g.handler(10*time.Millisecond), nil)()
		f.fill("mail", "a", 1000)
		f.fill("mail", "b", 100)
		time.Sleep(10 * time.Second)
		assert.Len(t, g.timesOf("group b"), 100)
		assert.Less(t, g.timesOf("group b")[99].Sub(f.start), time.Second)
		begun := g.timesOf("group a")
		assert.InDelta(t, 510, len(begun), 30)
		slices.SortFunc(begun, time.Time.Compare)
		for i, from := range begun {
			for j, to := range begun[i:] {
				require.LessOrEqual(t, float64(j+1), 10+50*to.Sub(from).Seconds()+1e-6)
			}
		}
	})
}

// A call of Claim is a transaction.
func TestLimitedBacklogIsClaimedInBatches(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{Group: "a"}, durable.Limit{Running: 20}))
		f.fill("mail", "a", 4000)
		defer f.work(func(ctx context.Context, firing durable.Firing) error { // handlers end apart from each other
			return g.handler(time.Duration(8000+firing.Generation*7919%4000)*time.Microsecond)(ctx, firing)
		}, nil)()
		time.Sleep(2 * time.Second)
		assert.Greater(t, g.count("mail"), 3400)
		assert.Equal(t, 20, g.mostOf("mail"))
		assert.Less(t, f.stats().ClaimTime.Count(), int64(200))
	})
}

// Rows that wait for a limit are claimed only as far as they have permits.
func TestLimitedEntriesCanBeCancelled(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{All: true}, durable.Limit{Running: 2}))
		defer f.work(g.handler(time.Minute), nil)()
		f.fill("mail", "", 100)
		time.Sleep(10 * time.Second)
		st := f.stats()
		assert.LessOrEqual(t, st.Claimed, int64(4))
		assert.GreaterOrEqual(t, st.Limited, int64(96))
		assert.InDelta(t, 10, st.Overdue.Seconds(), 1)
		n, err := f.CancelMany(f.t.Context(), durable.Scope{Prefix: "mail/"})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, 96)
		time.Sleep(5 * time.Minute)
		assert.LessOrEqual(t, len(f.times()), 4)
	})
}

func TestPermitsOfADeadWorkerReturn(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{All: true}, durable.Limit{Running: 3}))
		worker, err := f.b.Heartbeat(f.t.Context(), 0, 5*time.Second)
		require.NoError(t, err)
		f.takePermits(worker, 3)
		defer f.work(g.handler(time.Second), nil)()
		f.fill("mail", "", 9)
		time.Sleep(4 * time.Second)
		assert.Empty(t, f.times())
		time.Sleep(5 * time.Second)
		assert.Len(t, f.times(), 9)
		assert.Equal(t, 3, g.mostOf(""))
	})
}

func TestInvalidLimitsAreNamed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, long := f.t.Context(), strings.Repeat("x", 600)
		for says, err := range map[string]error{
			"without Running and PerSecond":           f.Limit(ctx, durable.Scope{All: true}, durable.Limit{}),
			"Limit.Running: -1 (expected: 0 for no":   f.Limit(ctx, durable.Scope{All: true}, durable.Limit{Running: -1}),
			"Limit.PerSecond: -2 (expected: 0 for no": f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: -2}),
			"Limit.Burst: 3 (expected: 0 for the":     f.Limit(ctx, durable.Scope{All: true}, durable.Limit{Running: 1, Burst: 3}),
			"Limit.Running: 1000001 (expected: 0":     f.Limit(ctx, durable.Scope{All: true}, durable.Limit{Running: 1_000_001}),
			"Limit.PerSecond: NaN (expected: 0":       f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: math.NaN()}),
			"Limit.PerSecond: 1e-07 (expected: 0":     f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: 1e-7}),
			"Limit.PerSecond: +Inf (expected: 0":      f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: math.Inf(1)}),
			"Limit.Burst: 1000001 (expected: 0":       f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: 1, Burst: 1_000_001}),
			"Limit.Burst: -1 (expected: 0":            f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: 1, Burst: -1}),
			"600 bytes (expected: up to 512)":         f.Limit(ctx, durable.Scope{Prefix: long}, durable.Limit{Running: 1}),
			"group \"xxx":                             f.RemoveLimit(ctx, durable.Scope{Group: long}),
		} {
			assert.ErrorIs(t, err, durable.ErrInvalid)
			assert.ErrorContains(t, err, says)
		}
		limits, err := f.Limits(ctx)
		require.NoError(t, err)
		assert.Empty(t, limits)
	})
}

// A worker of another process does not answer. The limit is stored, and holds once the worker's lease has ended.
func TestLimitNamesWorkersThatDoNotAnswer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.b.DB.Heartbeat(f.t.Context(), 0, 5*time.Second)
		require.NoError(t, err)
		for name, c := range map[string]struct {
			end  func(f *fixture)
			says string
		}{
			"context": {func(f *fixture) { time.Sleep(2 * time.Second) }, "stored, but 1 workers do not keep it yet: context deadline exceeded"},
			"error":   {func(f *fixture) { f.b.set("Limited", errGone) }, "stored, but whether workers keep it is unknown: the database is gone"},
		} {
			ctx, cancel := context.WithTimeout(f.t.Context(), 1010*time.Millisecond) // between two looks
			done := make(chan error, 1)
			go func() { done <- f.Limit(ctx, everything, durable.Limit{Running: 3}) }()
			time.Sleep(500 * time.Millisecond)
			c.end(f)
			require.ErrorContains(t, <-done, c.says, name)
			cancel()
			f.b.set("Limited", nil)
		}
		limits, err := f.Limits(f.t.Context())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		require.NoError(t, f.Limit(f.t.Context(), everything, durable.Limit{Running: 3}))
		require.Equal(t, 5*time.Second, time.Since(f.start).Truncate(time.Second), "the end of the lease")
	})
}

// A Work has the only permit for an hour, and the other Work has pending rows alone.
func TestRowsWaitForNoRemovedLimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, g := f.t.Context(), newGauge()
		for kind, took := range map[string]time.Duration{"call": time.Hour, "mail": time.Millisecond} {
			var m durable.Mux
			m.Handle(kind+"/", g.handler(took), nil)
			defer f.workMux(&m)()
		}
		require.NoError(t, f.Limit(ctx, durable.Scope{Group: "a"}, durable.Limit{Running: 1}))
		f.fill("call", "a", 1)
		time.Sleep(5 * time.Second)
		f.fill("mail", "a", 20)
		time.Sleep(5 * time.Second)
		require.Zero(t, g.count("mail"))
		require.NoError(t, f.RemoveLimit(ctx, durable.Scope{Group: "a"}))
		time.Sleep(5 * time.Second)
		require.Equal(t, 20, g.count("mail"))
		time.Sleep(time.Hour)
	})
}

// Rows with tokens do not wait behind the rows without limits.
func TestRateHoldsBesideABacklog(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, g := f.t.Context(), newGauge()
		require.NoError(t, f.Limit(ctx, durable.Scope{Prefix: "mail/"}, durable.Limit{PerSecond: 10, Burst: 1}))
		f.fill("mail", "", 60)
		f.fill("other", "", 4000)
		defer f.work(g.handler(10*time.Millisecond), &durable.WorkOptions{Concurrency: 4})()
		time.Sleep(8 * time.Second)
		require.Greater(t, g.count("mail"), 40)
	})
}

// Two Works learn of a limit in any order. The handlers of both count, also the ones that ran before the limit.
func TestNewLimitCountsHandlersBeforeIt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, g, holds, above := f.t.Context(), newGauge(), atomic.Bool{}, atomic.Int32{}
		counted := func(took time.Duration) durable.Handler {
			handler := g.handler(took)
			return func(ctx context.Context, firing durable.Firing) error {
				if g.mu.Lock(); holds.Load() && g.running[""] >= 10 {
					above.Add(1)
				}
				g.mu.Unlock()
				return handler(ctx, firing)
			}
		}
		for kind, took := range map[string]time.Duration{"long": 3 * time.Second, "short": 10 * time.Millisecond} {
			var m durable.Mux
			m.Handle(kind+"/", counted(took), &durable.WorkOptions{Concurrency: 40})
			defer f.workMux(&m)()
		}
		for i := range int64(8) {
			f.b.delay(fmt.Sprint("Share of worker ", 1+i%2), 300*time.Millisecond)
			f.fill("long", "", 40)
			f.fill("short", "", 500)
			time.Sleep(30 * time.Millisecond)
			require.NoError(t, f.Limit(ctx, durable.Scope{All: true}, durable.Limit{Running: 10}))
			synctest.Wait() // handlers that have begun under no limit are counted
			holds.Store(true)
			time.Sleep(30 * time.Second)
			require.Zero(t, above.Load(), "handlers that began above the limit")
			holds.Store(false)
			f.b.delay(fmt.Sprint("Share of worker ", 1+i%2), 0)
			require.NoError(t, f.RemoveLimit(ctx, durable.Scope{All: true}))
			time.Sleep(time.Second)
		}
	})
}

// A Work that has no row left says so, and the other Work gets its permit.
func TestUnusedPermitsGoToOtherWorks(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{All: true}, durable.Limit{Running: 1}))
		for _, kind := range []string{"call", "mail"} {
			var m durable.Mux
			m.Handle(kind+"/", g.handler(time.Millisecond), nil)
			defer f.workMux(&m)()
		}
		f.fill("call", "", 3)
		time.Sleep(5 * time.Second)
		require.Equal(t, 3, g.count("call"))
		f.fill("mail", "", 3)
		time.Sleep(5 * time.Second)
		require.Equal(t, 3, g.count("mail"))
	})
}

// Rows that are claimed and wait for a limit wait for a second limit, too, which they did not know when they were claimed.
func TestClaimedRowsWaitForALaterLimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, g := f.t.Context(), newGauge()
		require.NoError(t, f.Limit(ctx, durable.Scope{Prefix: "mail/"}, durable.Limit{Running: 4}))
		defer f.work(g.handler(100*time.Millisecond), nil)()
		f.fill("mail", "a", 200)
		time.Sleep(time.Second)
		require.Greater(t, f.stats().Claimed, int64(4), "rows that wait for the first limit, claimed")
		require.NoError(t, f.Limit(ctx, durable.Scope{Group: "a"}, durable.Limit{Running: 1}))
		time.Sleep(time.Second)
		g.reset()
		time.Sleep(30 * time.Second)
		require.Equal(t, 200, g.count("mail"))
		require.Equal(t, 1, g.mostOf("mail"))
	})
}

// No permit or token is free for an hour.
func TestExpiredEntriesUseNoPermit(t *testing.T) {
	for name, limit := range map[string]durable.Limit{"rate": {PerSecond: 1. / 3600}, "handlers": {Running: 1}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				g := newGauge()
				require.NoError(t, f.Limit(f.t.Context(), durable.Scope{All: true}, limit))
				defer f.work(g.handler(time.Hour), nil)()
				for i := range 500 {
					f.setIn(fmt.Sprint("mail/", i), 0, notAfter(time.Now().Add(10*time.Second)))
				}
				time.Sleep(9 * time.Second)
				require.Empty(t, f.dead())
				time.Sleep(2 * time.Second)
				dead := f.dead()
				require.Len(t, dead, 499)
				require.Equal(t, durable.Expired, dead[0].Reason)
				require.Equal(t, 1, g.count(""))
				time.Sleep(time.Hour)
			})
		})
	}
}

// The Work holds the rows again under its next lease, while a handler keeps the only permit.
func TestRowsOfAnEarlierLeaseLeaveLimits(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{All: true}, durable.Limit{Running: 1}))
		defer f.work(g.handler(10*time.Minute), nil)()
		f.fill("mail", "", 100)
		time.Sleep(2 * time.Second)
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(10 * time.Second)
		f.b.set("Heartbeat", nil)
		time.Sleep(4 * time.Second)
		require.LessOrEqual(t, f.stats().Limited, int64(100))
		_, err := f.CancelMany(f.t.Context(), durable.Scope{All: true})
		require.NoError(t, err)
		time.Sleep(30 * time.Minute)
	})
}

// The second entry waits for the permit of the first one.
func TestEachEndOfAHandlerReturnsItsPermit(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context) error{
		"success":     func(context.Context) error { return nil },
		"error":       func(context.Context) error { return errors.New("failed") },
		"panic":       func(context.Context) error { panic("failed") },
		"Goexit":      func(context.Context) error { runtime.Goexit(); return nil },
		"give up":     func(context.Context) error { return durable.GiveUp(errors.New("failed")) },
		"retry after": func(context.Context) error { return durable.RetryAfter(time.Hour) },
		"postpone":    func(context.Context) error { return durable.Postpone(time.Hour) },
		"timeout":     func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				require.NoError(t, f.Limit(f.t.Context(), everything, durable.Limit{Running: 1}))
				defer f.work(func(ctx context.Context, firing durable.Firing) error {
					if firing.Key != "first" {
						return nil
					}
					time.Sleep(time.Second)
					return end(ctx)
				}, &durable.WorkOptions{Timeout: 2 * time.Second, BaseBackoff: time.Hour, MaxBackoff: time.Hour})()
				f.setIn("first", 0)
				f.setIn("second", 500*time.Millisecond)
				time.Sleep(10 * time.Second)
				i := slices.Index(f.firedKeys(), "second")
				require.GreaterOrEqual(t, i, 0)
				require.GreaterOrEqual(t, f.at[i], time.Second)
			})
		})
	}
}

// The next Work fires entries that were claimed and have waited for a permit, as a first attempt.
func TestDrainLeavesLimitedEntriesToOthers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		require.NoError(t, f.Limit(f.t.Context(), everything, durable.Limit{Running: 3}))
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			if firing.Kind() == "short" {
				return nil
			}
			return hang(ctx, firing)
		}, &durable.WorkOptions{DrainTimeout: time.Second})
		f.fill("short", "", 50)
		for len(f.times()) < 50 {
			time.Sleep(10 * time.Millisecond)
		}
		f.fill("long", "", 50) // which the Work claims ahead of their permits, after so many short ones
		time.Sleep(time.Second)
		require.EqualValues(t, 47, f.stats().Limited)
		require.Greater(t, f.stats().Claimed, int64(3))
		end()
		require.Len(t, f.keys(), 50)
		defer f.work(nil, nil)()
		time.Sleep(4 * time.Second) // less than a lease
		require.Empty(t, f.keys())
		require.Len(t, f.times(), 50+3+50)
		for _, firing := range f.fired {
			require.Equal(t, 1, firing.Attempt)
		}
	})
}

func TestOverdueCountsEntriesThatWaitForALimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		require.NoError(t, f.Limit(f.t.Context(), everything, durable.Limit{Running: 1}))
		end := f.work(hang, &durable.WorkOptions{DrainTimeout: time.Second})
		f.fill("mail", "", 2)
		time.Sleep(10 * time.Second)
		st := f.stats()
		assert.EqualValues(t, 2, st.Claimed, "the second one waits for the permit")
		assert.EqualValues(t, 1, st.Limited)
		assert.EqualValues(t, 1, st.Running)
		assert.GreaterOrEqual(t, st.Overdue, 8*time.Second)
		end()
	})
}

// A permit that becomes free during a pause begins no handler of an entry that was not claimed before.
func TestPauseHoldsEntriesThatWaitForALimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, g := f.t.Context(), newGauge()
		require.NoError(t, f.Limit(ctx, everything, durable.Limit{Running: 1}))
		defer f.work(g.handler(time.Second), nil)()
		f.fill("mail", "", 30)
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, f.Pause(ctx, durable.Pause{Scope: everything}))
		claimed, err := f.b.DB.Stats(ctx, nil)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.EqualValues(t, claimed.Claimed, g.count(""))
		require.Less(t, g.count(""), 15)
		require.NoError(t, f.Resume(ctx, everything))
		time.Sleep(time.Minute)
		require.Equal(t, 30, g.count(""))
		require.Equal(t, 1, g.mostOf(""))
	})
}
