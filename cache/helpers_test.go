package cache_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tick = 10 * time.Millisecond

// late returns the maximum lateness of an entry on a timer with that tick: the tick, and
// the rounding of deadlines.
const late = tick + 2*time.Millisecond

type options = cache.Options[string, int]

// newTimer returns a timer that stops at the end of the test.
func newTimer(tb testing.TB, options ...hashedwheel.Options) *hashedwheel.Timer {
	tb.Helper()
	o := append(options, hashedwheel.Options{})[0]
	o.TickDuration, o.TicksPerWheel, o.SlowTaskThreshold = tick, 8, -1
	timer, err := hashedwheel.New(&o)
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

// newCache returns a cache with a TTL of a minute that closes at the end of the test.
func newCache(tb testing.TB, o options) *cache.Cache[string, int] {
	tb.Helper()
	c, err := cache.New(time.Minute, &o)
	require.NoError(tb, err)
	tb.Cleanup(func() { c.Close() })
	return c
}

// set is Set where it must not fail.
func set(tb testing.TB, c *cache.Cache[string, int], key string, value int) {
	tb.Helper()
	require.NoError(tb, c.Set(key, value))
}

// setFor is SetWithTTL where it must not fail.
func setFor(tb testing.TB, c *cache.Cache[string, int], key string, value int, ttl time.Duration) {
	tb.Helper()
	require.NoError(tb, c.SetWithTTL(key, value, ttl))
}

// pass advances fake time, and runs the due callbacks.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble runs f in fake time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	enginetest.Bubble(t, f)
}

// onProcs runs f with several settings of GOMAXPROCS.
func onProcs(f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		f()
	}
}

// holds reports whether c has the value under key.
func holds(c *cache.Cache[string, int], key string, value int) bool {
	got, ok := c.Get(key)
	return ok && got == value
}

func has(c *cache.Cache[string, int], key string) bool {
	_, ok := c.Get(key)
	return ok
}

// end is a call of OnEvict.
type end struct {
	key    string
	value  int
	reason cache.Reason
}

// ends records calls of OnEvict.
type ends struct {
	mu  sync.Mutex
	all []end
}

func (e *ends) add(key string, value int, reason cache.Reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, end{key, value, reason})
}

// take returns the calls since the last take.
func (e *ends) take() []end {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}
