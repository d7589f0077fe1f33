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

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/timertest"
)

// idleTimer accepts timeouts and never fires one.
type idleTimer struct{ hwt.Timer }

type idleTimeout struct {
	hwt.Timeout
	cancelled bool
}

func (t *idleTimeout) Cancel() bool      { t.cancelled = true; return true }
func (t *idleTimeout) IsCancelled() bool { return t.cancelled }

func (idleTimer) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) {
	return &idleTimeout{}, nil
}

// TestAFlockStaysInOrder fires with readings of the clock that are as old as those
// of a worker that was held up in the middle, and checks F1 after each step.
func TestAFlockStaysInOrder(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		const period = 100 * time.Millisecond
		r := rand.New(rand.NewPCG(1, 2)) // the same each time
		c := New(idleTimer{})
		tickers := []*Ticker{c.NewTicker(period)} // one always stays
		f := tickers[0].flock
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
				for f.fire(latest, latest.Sub(c.start)) {
				}
			}
			inOrder(t, f, len(tickers), latest.Sub(c.start))
		}
	})
}

// TestTickersComeAndGoInTheMiddleOfAFiring has them do so between two batches:
// those that have ticked, those that are to, and the first of each.
func TestTickersComeAndGoInTheMiddleOfAFiring(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		const period, n = 100 * time.Millisecond, 4 * batch
		c := New(idleTimer{})
		var tickers []*Ticker
		for range n {
			tickers = append(tickers, c.NewTicker(period))
		}
		f := tickers[0].flock
		for range 3 {
			time.Sleep(period)
			now := time.Now()
			at := now.Sub(c.start)
			assert.True(t, f.fire(now, at))
			tickers[0].Stop()        // the first that has ticked
			tickers[batch].Stop()    // the first that is to
			tickers[2].Reset(period) // another that has ticked
			joined := c.NewTicker(period)
			for f.fire(now, at) {
			}
			inOrder(t, f, n-1, at)
			joined.Stop()
			inOrder(t, f, n-2, at)
			tickers[0].Reset(period)
			tickers[batch].Reset(period)
			inOrder(t, f, n, at)
			slices.SortFunc(tickers, func(a, b *Ticker) int { return cmp.Compare(a.due, b.due) })
		}
		time.Sleep(2 * period)
		assert.True(t, f.fire(time.Now(), c.now()))
		armed := f.timeout
		for _, ticker := range tickers {
			ticker.Stop()
		}
		assert.False(t, f.fire(time.Now(), c.now()), "all have gone")
		assert.Same(t, armed, f.timeout, "no other timeout")
		c.flocks.Range(func(any, any) bool { assert.Fail(t, "a flock that has gone is kept"); return true })
	})
}

// TestWhoJoinedSinceTheLatestFiringTicksInOneThatIsLate has all the others miss
// ticks there, and some who joined as well.
func TestWhoJoinedSinceTheLatestFiringTicksInOneThatIsLate(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		const period, step, n = 100 * time.Millisecond, 7 * time.Millisecond, 60 // over four periods
		c := New(idleTimer{})
		var tickers []*Ticker
		for i := range n {
			tickers = append(tickers, c.NewTicker(period))
			if i == n/2 {
				fireNow(c, tickers[0].flock)
			}
			time.Sleep(step)
		}
		f := tickers[0].flock
		require.Less(t, f.late.head.due, c.now(), "somebody is due who joined since")
		require.NotNil(t, f.ring.head)
		at := fireNow(c, f)
		inOrder(t, f, n, at)
		for i, ticker := range tickers {
			joined := time.Duration(i) * step
			require.Equal(t, joined+period*((at-joined)/period+1), ticker.due, "the first after the firing")
			require.Equal(t, joined+period <= at, len(ticker.C) == 1)
		}
	})
}

// fireNow fires by the time of now, and returns that.
func fireNow(c *Clock, f *flock) (at time.Duration) {
	now := time.Now()
	for f.fire(now, now.Sub(c.start)) {
	}
	return now.Sub(c.start)
}

// TestWhoeverIsFirstMayLeaveInTheMiddleOfAFiring takes out, between two batches,
// the last that ticked, the first that did and the one that is to, with everybody
// due, so that the ring comes round, or some not.
func TestWhoeverIsFirstMayLeaveInTheMiddleOfAFiring(t *testing.T) {
	const period, n = 100 * time.Millisecond, 2*batch + batch/2
	for name, leave := range map[string]int{"first that ticked": 0, "last that ticked": batch - 1, "next": batch, "last": n - 1} {
		for _, idle := range []int{0, batch} { // who is not due
			t.Run(fmt.Sprintf("%s of %d", name, n+idle), func(t *testing.T) {
				timertest.Bubble(t, func(t *testing.T) {
					c := New(idleTimer{})
					var tickers []*Ticker
					for i := range n + idle {
						if i == n {
							time.Sleep(period / 2)
						}
						tickers = append(tickers, c.NewTicker(period))
					}
					f := tickers[0].flock
					fireNow(c, f) // who joined is in the ring
					time.Sleep(period - c.now())
					now := time.Now()
					require.True(t, f.fire(now, period))
					tickers[leave].Stop()
					for f.fire(now, period) {
					}
					inOrder(t, f, n+idle-1, period)
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

func inOrder(t *testing.T, f *flock, n int, at time.Duration) {
	t.Helper()
	seen, last := 0, time.Duration(0)
	for _, r := range []ring{f.ring, f.late} {
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
	if f.ring.head != nil {
		require.LessOrEqual(t, f.ring.head.prev.due, at+f.period)
	}
}
