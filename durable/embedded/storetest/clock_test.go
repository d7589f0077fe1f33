package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// skewed is a clock that can be set.
type skewed struct{ by atomic.Int64 }

func (c *skewed) now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func (c *skewed) set(by time.Duration) { c.by.Store(int64(by)) }

func TestTheServersClockIsMeasured(t *testing.T) {
	t.Parallel()
	var c skewed
	c.set(-time.Hour)
	s := open(t, durable.Options{Lead: time.Second, Now: c.now})
	require.NoError(t, s.Refresh(testContext(t)))
	st := s.Stats()
	assert.InDelta(t, time.Hour, st.ClockOffset, float64(st.ClockError+time.Millisecond))
}

// TestAClockSetBackMakesNothingEarly sets the worker's clock back while it holds
// timers: before it claims the one, and after it has claimed the other.
func TestAClockSetBackMakesNothingEarly(t *testing.T) {
	t.Parallel()
	var c skewed
	s := open(t, durable.Options{Lead: 2 * time.Second, Now: c.now})
	ctx := testContext(t)
	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	start := time.Now()
	for key, in := range map[string]time.Duration{"unclaimed": 2 * time.Second, "claimed": time.Second} {
		_, err := s.Set(ctx, key, start.Add(in), nil)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		_, err := s.Get(ctx, "claimed")
		return err != nil
	}, patience, time.Millisecond)
	c.set(-time.Second)
	list := got.wait(t, 2)
	stop()
	for _, f := range list {
		assert.GreaterOrEqual(t, f.Lateness, time.Duration(0), f.Key)
	}
	assert.GreaterOrEqual(t, time.Since(start), 3*time.Second, "by the clock that was set back")
}
