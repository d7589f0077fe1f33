package clock_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestTickerTicksEveryPeriod(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		start := time.Now()
		ticker, c := s.newTicker(unit)
		for i := range 20 {
			at := <-c
			assert.Equal(t, unit*time.Duration(i+1), at.Sub(start))
			assert.Less(t, time.Since(at), slop)
		}
		ticker.Stop()
		pass(3 * unit)
		_, stale := received(c)
		assert.False(t, stale)
	})
}

func TestOneMissedTickIsBuffered(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		start := time.Now()
		ticker, c := s.newTicker(unit)
		pass(3*unit + unit/2)
		at, ok := received(c)
		assert.True(t, ok)
		assert.Equal(t, unit, at.Sub(start), "the first that was missed")
		_, ok = received(c)
		assert.False(t, ok, "the others were discarded")
		assert.Equal(t, 4*unit, (<-c).Sub(start))
		ticker.Stop()
	})
}

func TestStoppedTickerSendsNothing(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ticker, c := s.newTicker(unit)
		pass(unit + slop)
		ticker.Stop()
		_, stale := received(c)
		assert.False(t, stale)
		ticker.Stop()
		ticker.Reset(2 * unit)
		pass(2*unit - slop)
		_, early := received(c)
		assert.False(t, early)
		pass(2 * slop)
		_, ok := received(c)
		assert.True(t, ok)
		ticker.Stop()
	})
}

func TestResetBeginsANewPeriod(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ticker, c := s.newTicker(unit)
		pass(unit + unit/2)
		start := time.Now()
		ticker.Reset(2 * unit)
		_, stale := received(c)
		assert.False(t, stale)
		assert.Equal(t, 2*unit, (<-c).Sub(start))
		assert.Equal(t, 4*unit, (<-c).Sub(start))
		ticker.Reset(unit)
		start = time.Now()
		assert.Equal(t, unit, (<-c).Sub(start))
		ticker.Stop()
	})
}

func TestPeriodThatIsNotPositivePanics(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for _, d := range []time.Duration{0, -unit} {
			assert.Panics(t, func() { s.newTicker(d) })
			assert.Nil(t, s.tick(d))
			ticker, _ := s.newTicker(unit)
			assert.Panics(t, func() { ticker.Reset(d) })
			ticker.Stop()
		}
	})
}

func TestTickTicks(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		start := time.Now()
		c := newClock(t, timer).Tick(unit)
		for i := range 3 {
			assert.Equal(t, unit*time.Duration(i+1), (<-c).Sub(start))
		}
		synctest.Wait() // for the end of the firing
		assert.EqualValues(t, 1, timer.Pending())
	})
}

// dice returns reproducible random numbers.
func dice() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// groupOf creates n tickers of one period at random times, and returns these times.
func groupOf(r *rand.Rand, c *clock.Clock, n int, period time.Duration) (tickers []*clock.Ticker, starts []time.Time) {
	for range n {
		time.Sleep(upTo(r, 3*period/time.Duration(n)))
		tickers, starts = append(tickers, c.NewTicker(period)), append(starts, time.Now())
	}
	return tickers, starts
}

// ticksOnTime waits for a tick, which must be periods of a unit after start, and now.
func ticksOnTime(t *testing.T, ticker *clock.Ticker, start time.Time) {
	t.Helper()
	at := <-ticker.C
	require.Zero(t, at.Sub(start)%unit, "phase")
	require.LessOrEqual(t, time.Since(at), tick, "on time")
}

func stopAll(tickers []*clock.Ticker) {
	for _, ticker := range tickers {
		ticker.Stop()
	}
}

func TestTickersOfOnePeriodShareATimeout(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		r := dice()
		const n = 300
		tickers, starts := groupOf(r, newClock(t, timer), n, unit)
		assert.EqualValues(t, 1, timer.Pending())
		synctest.Wait()
		for i := range tickers {
			received(tickers[i].C)
		}
		// All have joined. From here on, each ticks once per period, on time.
		for range enginetest.Effort(1000, 300, 300) {
			time.Sleep(upTo(r, unit/10))
			i := r.IntN(n)
			require.Zero(t, (<-tickers[i].C).Sub(starts[i])%unit, "phase")
			ticksOnTime(t, tickers[i], starts[i])
		}
		stopAll(tickers)
		assert.Zero(t, timer.Pending())
	})
}

func TestTickersComeAndGoWhileOthersTick(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		r := dice()
		const n = 100
		c := newClock(t, timer)
		tickers, starts := groupOf(r, c, n, unit)
		for range enginetest.Effort(3000, 1000, 1000) {
			time.Sleep(upTo(r, unit/50))
			i := r.IntN(n)
			switch r.IntN(4) {
			case 0:
				tickers[i].Stop()
				tickers[i], starts[i] = c.NewTicker(unit), time.Now()
			case 1:
				tickers[i].Reset(unit)
				starts[i] = time.Now()
			default:
				received(tickers[i].C)
				ticksOnTime(t, tickers[i], starts[i])
			}
		}
		stopAll(tickers)
		assert.Zero(t, timer.Pending())
	})
}

func TestTickersKeepTheirPhasesIfTheWorkerIsLate(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		r := dice()
		held := &holding{Timer: timer}
		tickers, starts := groupOf(r, newClock(t, held), 50, unit)
		synctest.Wait()
		for range 20 {
			held.hold()
			time.Sleep(upTo(r, 5*unit))
			held.release()
			synctest.Wait()
			for _, i := range r.Perm(len(tickers))[:10] { // all are on time again
				received(tickers[i].C)
				ticksOnTime(t, tickers[i], starts[i])
			}
		}
		stopAll(tickers)
	})
}

func TestShortPeriodDoesNotBlockTheTimer(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClock(t, timer)
		short := c.NewTicker(time.Microsecond)
		other := c.NewTicker(3 * time.Microsecond)
		for range 100 {
			<-short.C
			<-other.C
		}
		short.Stop()
		other.Stop()
		assert.Zero(t, timer.Pending())
	})
}

// TestTickersTickAgainAfterTheTimerLostATask adds a ticker after the task of its group was
// lost.
func TestTickersTickAgainAfterTheTimerLostATask(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		lossy := &holding{Timer: timer}
		c := newClock(t, lossy)
		start := time.Now()
		silent := c.NewTicker(unit)
		lossy.hold()
		pass(unit + unit/2)
		lossy.lose()
		joined := c.NewTicker(unit)
		assert.Equal(t, unit, (<-silent.C).Sub(start), "the tick that was missed")
		for i := range 3 {
			assert.Equal(t, unit*time.Duration(2+i), (<-silent.C).Sub(start))
			assert.Equal(t, unit*time.Duration(2+i)+unit/2, (<-joined.C).Sub(start))
		}
		silent.Stop()
		joined.Stop()
		assert.Zero(t, timer.Pending())
	})
}

func TestMissedTicksAreNotMadeUpFor(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		held := &holding{Timer: timer}
		start := time.Now()
		ticker := newClock(t, held).NewTicker(unit)
		held.hold()
		time.Sleep(3*unit + unit/2)
		held.release()
		assert.Equal(t, unit, (<-ticker.C).Sub(start))
		pass(slop)
		_, ok := received(ticker.C)
		assert.False(t, ok)
		assert.Equal(t, 4*unit, (<-ticker.C).Sub(start))
		ticker.Stop()
	})
}
