package durable

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Five tokens, a tenth of a second apart, from 10 s on. An unused one lets the next one begin early.
func TestTokensEndWithTheirWindow(t *testing.T) {
	limit := backend.Limit{PerSecond: 10, Burst: 1}
	window, ms := int64(limit.Window()), int64(time.Millisecond)
	require.Equal(t, 10*ms, window)
	for name, c := range map[string]struct {
		now, next int64
		left      int
		until     int64 // the time of the token, if it is not next
	}{
		"too far ahead, as after the clock was set back": {7499 * ms, math.MaxInt64, 0, 0},
		"ahead":                     {9500 * ms, 10_000 * ms, 5, 0},
		"now":                       {10_000 * ms, 10_000 * ms, 5, 0},
		"at the end of the window":  {10_000*ms + window, 10_000 * ms, 5, 0},
		"after the window":          {10_000*ms + window + 1, 10_000*ms + window + 1, 4, 10_100 * ms},
		"after several windows":     {10_250 * ms, 10_250 * ms, 2, 10_300 * ms},
		"after all windows":         {11_000 * ms, math.MaxInt64, 0, 0},
		"in the window of the last": {10_405 * ms, 10_400 * ms, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := &quota{limit: limit, held: 7, share: 7, tokens: []backend.Tokens{{From: 10_000 * ms, Every: 100 * ms, N: 5}}}
			require.Equal(t, c.next, q.nextToken(c.now))
			require.Equal(t, c.left, q.ahead(c.now))
			require.Equal(t, c.left > 0 && c.next <= c.now, q.may(c.now))
			if c.left == 0 {
				return
			}
			require.Equal(t, cmp.Or(c.until, c.next)+window, q.take(c.now), "the time until which the handler may begin")
			require.Equal(t, 1, q.running)
			require.Equal(t, c.left-1, q.ahead(c.now))
		})
	}
}

// A limit of Running alone needs no token, and its permits are the share of those that are held.
func TestPermitsAreTheShareOfTheHeldOnes(t *testing.T) {
	for _, c := range []struct{ held, share, running, permits int }{{3, 5, 2, 3}, {5, 3, 2, 3}, {5, 3, 3, 3}, {5, 0, 0, 0}} {
		q := &quota{limit: backend.Limit{Running: 9}, held: c.held, share: c.share, running: c.running}
		require.Equal(t, c.permits, q.permits(), "%+v", c)
		require.Equal(t, c.running < c.permits, q.may(0), "%+v", c)
	}
}

// A claimed row may wait for a day for one of its limits.
func TestWaitingRowTakesRoomFromOneLimitOnly(t *testing.T) {
	w := newTestWorker(t)
	l, all, rate := w.limiter, backend.Limit{Running: 1}, backend.Limit{Scope: backend.Scope{Group: "a"}, PerSecond: 1, Burst: 1}
	l.load([]backend.LimitUse{{Limit: all}, {Limit: rate}})
	h := &flight{row: backend.Row{Key: "k", Group: "a"}, kind: w.dispatchers[0].kind}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.count(h, l.covering(&h.row))
	claimed := func() []int { return []int{l.quotas[all.Scope].claimed, l.quotas[rate.Scope].claimed} }
	require.Equal(t, []int{1, 1}, claimed())
	l.park(l.quotas[rate.Scope], &l.quotas[rate.Scope].due, h)
	require.Equal(t, []int{0, 1}, claimed())
	l.forget(h, u)
	require.Equal(t, []int{0, 0}, claimed())
}
