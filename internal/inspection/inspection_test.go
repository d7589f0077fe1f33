package inspection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/inspection"
)

const tick = 10 * time.Millisecond

func hashed(t *testing.T, buckets int) (hwt.Engine, inspection.View) {
	timer, err := hashedwheel.New(&hashedwheel.Options{Name: "shop", TickDuration: tick, TicksPerWheel: buckets})
	require.NoError(t, err)
	return opened(t, timer)
}

func hierarchy(t *testing.T, buckets int) (hwt.Engine, inspection.View) {
	timer, err := hierarchical.New(&hierarchical.Options{Name: "shop", TickDuration: tick, TicksPerWheel: buckets})
	require.NoError(t, err)
	return opened(t, timer)
}

func opened(t *testing.T, timer hwt.Engine) (hwt.Engine, inspection.View) {
	t.Cleanup(func() { timer.Stop() })
	v, ok := inspection.Of(timer)
	require.True(t, ok)
	assert.Equal(t, "shop", v.Name())
	return timer, v
}

// schedule schedules n timeouts, one per step beginning at first, and waits until they are
// in the wheel.
func schedule(t *testing.T, timer hwt.Timer, n int, first, step time.Duration) (all []hwt.Timeout) {
	for i := range n {
		timeout, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return nil }), first+time.Duration(i)*step)
		require.NoError(t, err)
		all = append(all, timeout)
	}
	time.Sleep(2 * tick)
	synctest.Wait()
	return all
}

// count returns the number of timeouts in each bucket of each ring.
func count(v inspection.View) (rings []map[int]int, total int) {
	for _, w := range v.Workers() {
		for range w.Rings() {
			rings = append(rings, map[int]int{})
		}
		w.Count(func(ring, bucket, n int) {
			rings[ring][bucket] += n
			total += n
		})
	}
	return rings, total
}

// The worker sleeps until its alarm, and callers with later deadlines leave it asleep.
func TestNewTimeoutsOfASleepingWorkerAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hashed(t, 512)
		schedule(t, timer, 1, time.Second, 0)
		schedule(t, timer, 10, 2*time.Second, 10*tick)
		_, total := count(v)
		assert.Equal(t, 11, total)
	})
}

func TestEveryBucketOfAHashedWheelIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hashed(t, 512)
		all := schedule(t, timer, 60_000, time.Second, tick/100)
		for _, timeout := range all[:30_000] {
			timeout.Cancel()
		}
		time.Sleep(2 * tick)
		rings, total := count(v)
		assert.Equal(t, 30_000, total)
		require.Len(t, rings, 1)
		for i := 401; i < 600; i++ { // the last 30,000 deadlines, 100 per tick, from 4 s after the start
			assert.Equal(t, 100, rings[0][i%512], "tick %d", i)
		}
	})
}

func TestHandFollowsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, open := range []func(*testing.T, int) (hwt.Engine, inspection.View){hashed, hierarchy} {
			timer, v := open(t, 8)
			schedule(t, timer, 1, time.Hour, 0)
			for _, w := range v.Workers() {
				r := w.Rings()[0]
				assert.Equal(t, inspection.Ring{Buckets: 8, Span: tick, Hand: 2}, r)
				time.Sleep(15 * tick / 2)
				r = w.Rings()[0]
				assert.Equal(t, inspection.Ring{Buckets: 8, Span: tick, Hand: 1, Turned: tick / 2}, r)
			}
		}
	})
}

func TestEachLevelIsARing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hierarchy(t, 8)
		for _, delay := range []time.Duration{100, 20} {
			_, err := timer.AfterFunc(delay*tick, func() {})
			require.NoError(t, err)
		}
		schedule(t, timer, 1, 6*tick, 0)
		rings := v.Workers()[0].Rings()
		require.Len(t, rings, 3)
		assert.Equal(t, 8*tick, rings[1].Span)
		assert.Equal(t, 64*tick, rings[2].Span)
		counts, _ := count(v)
		assert.Equal(t, []map[int]int{{6: 1}, {2: 1}, {1: 1}}, counts)
	})
}

func TestPartsOfAFullBucketAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hierarchy(t, 8)
		schedule(t, timer, 20_000, 1000*tick, tick/100)
		_, total := count(v)
		assert.Equal(t, 20_000, total)
	})
}

// The task keeps the worker from draining.
func TestIntakeOfABusyWorkerIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hashed(t, 8)
		proceed := make(chan struct{})
		_, err := timer.AfterFunc(tick, func() { <-proceed })
		require.NoError(t, err)
		time.Sleep(3 * tick)
		schedule(t, timer, 1, time.Hour, 0)
		_, total := count(v)
		assert.Zero(t, total)
		assert.EqualValues(t, 1, timer.Pending())
		close(proceed)
	})
}

func TestStoppedTimerHasNoRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, v := hashed(t, 64)
		schedule(t, timer, 100, time.Second, 0)
		timer.Stop()
		rings, total := count(v)
		assert.Empty(t, rings)
		assert.Zero(t, total)
	})
}

func TestWrappedTimerHasNoView(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	_, ok := inspection.Of(struct{ hwt.Timer }{timer})
	assert.False(t, ok)
}
