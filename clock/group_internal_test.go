package clock

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestTickerGroupStaysInOrder fires with old readings of the clock, like a worker that was
// preempted, and checks G1 after each step.
func TestTickerGroupStaysInOrder(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const period = 100 * time.Millisecond
		r := rand.New(rand.NewPCG(1, 2)) // the same each time
		c := newIdleClock(t)
		tickers := []*Ticker{c.NewTicker(period)} // the first is never stopped
		g := tickers[0].group
		latest := time.Now()
		for range 1000 {
			time.Sleep(time.Duration(r.Int64N(int64(period / 10))))
			switch r.IntN(4) {
			case 0, 1:
				tickers = append(tickers, c.NewTicker(period))
			case 2:
				if i := r.IntN(len(tickers)); i > 0 {
					tickers[i].Stop()
					tickers[i] = tickers[len(tickers)-1]
					tickers = tickers[:len(tickers)-1]
				}
			default:
				latest = latest.Add(time.Duration(r.Int64N(int64(time.Since(latest) + 1))))
				for g.fire(latest, latest.Sub(c.start)) {
				}
			}
			inOrder(t, g, len(tickers), latest.Sub(c.start))
		}
	})
}

// TestTickersComeAndGoDuringAFiring stops, resets, and creates tickers between two batches:
// tickers that have ticked and others that have not, and the first of each.
func TestTickersComeAndGoDuringAFiring(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const period, n = 100 * time.Millisecond, 4 * batch
		c := newIdleClock(t)
		var tickers []*Ticker
		for range n {
			tickers = append(tickers, c.NewTicker(period))
		}
		g := tickers[0].group
		for range 3 {
			time.Sleep(period)
			now := time.Now()
			at := now.Sub(c.start)
			assert.True(t, g.fire(now, at))
			tickers[0].Stop()        // the first that ticked
			tickers[batch].Stop()    // the first that did not
			tickers[2].Reset(period) // another that ticked
			joined := c.NewTicker(period)
			for g.fire(now, at) {
			}
			inOrder(t, g, n-1, at)
			joined.Stop()
			inOrder(t, g, n-2, at)
			tickers[0].Reset(period)
			tickers[batch].Reset(period)
			inOrder(t, g, n, at)
			slices.SortFunc(tickers, func(a, b *Ticker) int { return cmp.Compare(a.due, b.due) })
		}
		time.Sleep(2 * period)
		assert.True(t, g.fire(time.Now(), c.now()))
		armed := g.timeout
		for _, ticker := range tickers {
			ticker.Stop()
		}
		assert.False(t, g.fire(time.Now(), c.now()), "all were stopped")
		assert.Same(t, armed, g.timeout, "no other timeout")
		c.groups.Range(func(any, any) bool { assert.Fail(t, "a closed group is still in the map"); return true })
	})
}

// TestTickerThatJoinedTicksInALateFiring fires so late that all old tickers and some new
// ones have missed ticks.
func TestTickerThatJoinedTicksInALateFiring(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const period, step, n = 100 * time.Millisecond, 7 * time.Millisecond, 60 // over four periods
		c := newIdleClock(t)
		var tickers []*Ticker
		for i := range n {
			tickers = append(tickers, c.NewTicker(period))
			if i == n/2 {
				fireNow(c, tickers[0].group)
			}
			time.Sleep(step)
		}
		g := tickers[0].group
		require.Less(t, g.late.head.due, c.now(), "a ticker that joined since is due")
		require.NotNil(t, g.ring.head)
		at := fireNow(c, g)
		inOrder(t, g, n, at)
		for i, ticker := range tickers {
			joined := time.Duration(i) * step
			require.Equal(t, joined+period*((at-joined)/period+1), ticker.due, "the first after the firing")
			require.Equal(t, joined+period <= at, len(ticker.C) == 1)
		}
	})
}

// fireNow fires the tickers that are due now, and returns the time.
func fireNow(c *Clock, g *tickerGroup) (at time.Duration) {
	now := time.Now()
	for g.fire(now, now.Sub(c.start)) {
	}
	return now.Sub(c.start)
}

// TestFirstTickerMayLeaveDuringAFiring stops one ticker between two batches: the first or
// last that ticked, or the next one. In half of the cases all tickers are due, so that the
// firing goes around the whole ring.
func TestFirstTickerMayLeaveDuringAFiring(t *testing.T) {
	const period, n = 100 * time.Millisecond, 2*batch + batch/2
	for name, leave := range map[string]int{"first that ticked": 0, "last that ticked": batch - 1, "next": batch, "last": n - 1} {
		for _, idle := range []int{0, batch} { // number of tickers that are not due
			t.Run(fmt.Sprintf("%s of %d", name, n+idle), func(t *testing.T) {
				enginetest.Bubble(t, func(t *testing.T) {
					c := newIdleClock(t)
					var tickers []*Ticker
					for i := range n + idle {
						if i == n {
							time.Sleep(period / 2)
						}
						tickers = append(tickers, c.NewTicker(period))
					}
					g := tickers[0].group
					fireNow(c, g) // moves new tickers to the ring
					time.Sleep(period - c.now())
					now := time.Now()
					require.True(t, g.fire(now, period))
					tickers[leave].Stop()
					for g.fire(now, period) {
					}
					inOrder(t, g, n+idle-1, period)
					for i, ticker := range tickers {
						switch {
						case i == leave:
							require.Empty(t, ticker.C)
						case i < n:
							require.Len(t, ticker.C, 1)
							require.Equal(t, 2*period, ticker.due)
						default:
							require.Empty(t, ticker.C)
							require.Equal(t, period+period/2, ticker.due)
						}
					}
				})
			})
		}
	}
}

func inOrder(t *testing.T, g *tickerGroup, n int, at time.Duration) {
	t.Helper()
	seen, last := 0, time.Duration(0)
	for _, r := range []ring{g.ring, g.late} {
		if r.head == nil {
			continue
		}
		for x, first := r.head, true; first || x != r.head; x, first = x.next, false {
			require.LessOrEqual(t, last, x.due)
			require.Same(t, x, x.next.prev)
			last = x.due
			seen++
		}
	}
	require.Equal(t, n, seen)
	if g.ring.head != nil {
		require.LessOrEqual(t, g.ring.head.prev.due, at+g.period)
	}
}
