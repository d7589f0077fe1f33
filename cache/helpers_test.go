package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tick = 10 * time.Millisecond

// newTimer returns a timer that is stopped at the end of the test.
func newTimer(tb testing.TB, options ...hashedwheel.Option) *hashedwheel.Timer {
	tb.Helper()
	timer, err := hashedwheel.New(append(options,
		hashedwheel.WithTickDuration(tick), hashedwheel.WithTicksPerWheel(8), hashedwheel.WithSlowTaskThreshold(0))...)
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

// newCache returns a cache for a minute, without jitter unless the options say
// otherwise, that is closed at the end of the test.
func newCache(tb testing.TB, options ...cache.Option) *cache.Cache[string, int] {
	tb.Helper()
	options = append([]cache.Option{cache.WithJitter(0)}, options...)
	c, err := cache.New[string, int](time.Minute, options...)
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

// pass lets fake time go by and everything that is due by then run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble runs f in fake time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	timertest.Bubble(t, f)
}

// holds tells whether c has the value under key.
func holds(c *cache.Cache[string, int], key string, value int) bool {
	got, ok := c.Get(key)
	return ok && got == value
}

func has(c *cache.Cache[string, int], key string) bool {
	_, ok := c.Get(key)
	return ok
}
