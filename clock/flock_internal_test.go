package clock

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
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
	synctest.Test(t, func(t *testing.T) {
		const period = 100 * time.Millisecond
		c := New(idleTimer{})
		tickers := []*Ticker{c.NewTicker(period)} // one always stays
		f := tickers[0].flock
		latest := time.Now()
		for range 1000 {
			time.Sleep(rand.N(period / 10))
			switch rand.IntN(4) {
			case 0, 1:
				tickers = append(tickers, c.NewTicker(period))
			case 2:
				if i := rand.IntN(len(tickers)); i > 0 {
					tickers[i].Stop()
					tickers[i] = tickers[len(tickers)-1]
					tickers = tickers[:len(tickers)-1]
				}
			default:
				latest = latest.Add(rand.N(time.Since(latest) + 1))
				for f.fire(latest, latest.Sub(c.start)) {
				}
			}
			inOrder(t, f, len(tickers), latest.Sub(c.start))
		}
	})
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
