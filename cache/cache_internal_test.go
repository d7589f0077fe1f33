package cache

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hashedwheel"
)

// newFine returns a cache on a timer with a short tick. The tests in this file
// run on the real clock, because they look at the moments between two steps.
func newFine(t *testing.T, options ...Option) *Cache[int, int] {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(time.Millisecond), hashedwheel.WithSlowTaskThreshold(0))
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	c, err := New[int, int](time.Hour, append(options, WithTimer(timer))...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestAnEntryThatIsJustExpiringTakesNoNewerOneAlong sets a key while its old
// entry is out of the wheel, and not yet out of the list.
func TestAnEntryThatIsJustExpiringTakesNoNewerOneAlong(t *testing.T) {
	c := newFine(t, WithLimit(1))
	s := &c.stripes.all[0]
	s.mu.Lock()
	_, err := c.store(s, 1, 11, time.Millisecond)
	require.NoError(t, err)
	for c.wheel.Len() > 0 {
		runtime.Gosched()
	}
	require.Equal(t, 1, s.uses.len, "expired waits for the lock")
	d, err := c.store(s, 1, 12, time.Hour)
	s.mu.Unlock()
	require.NoError(t, err)
	assert.False(t, d.ok, "nothing had to go")
	value, ok := c.Get(1)
	assert.True(t, ok)
	assert.Equal(t, 12, value)
	assert.Zero(t, c.Stats().Evictions)
}

// TestEveryEntryIsInTheList holds rule C3 against sets that race with expiry: a
// set comes when the entry is about to expire, does so, or just has.
func TestEveryEntryIsInTheList(t *testing.T) {
	c := newFine(t, WithLimit(4))
	s := &c.stripes.all[0]
	for start := time.Now(); time.Since(start) < 600*time.Millisecond; {
		require.NoError(t, c.SetWithExpire(1, 0, 1))
		s.mu.Lock()
		e, ok := c.wheel.Get(1)
		linked := !ok || e.node.linked()
		s.mu.Unlock()
		require.True(t, linked, "the entry has no place in the list")
		for pause, from := rand.N(2*time.Millisecond), time.Now(); time.Since(from) < pause; {
			runtime.Gosched()
		}
	}
	require.Eventually(t, func() bool { return c.Len() == 0 }, 20*time.Second, time.Millisecond)
	assert.NotZero(t, c.Stats().Expirations)
}

// TestNobodyFetchesWhatHasJustLanded boards after another's flight has landed,
// as one does who looked before it did.
func TestNobodyFetchesWhatHasJustLanded(t *testing.T) {
	c := newFine(t)
	require.NoError(t, c.Set(1, 11))
	f, leads, err := c.board(c.stripes.of(1), 1)
	require.NoError(t, err)
	require.False(t, leads)
	<-f.done
	assert.Equal(t, 11, f.value)
	assert.NoError(t, f.err)
}

// TestADroppedCacheGoes needs the garbage collector, and so the real clock.
func TestADroppedCacheGoes(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the leak is reported
	var gone atomic.Bool
	func() {
		c, err := New[int, *[64]byte](10 * time.Millisecond)
		require.NoError(t, err)
		require.NoError(t, c.Set(1, new([64]byte)))
		runtime.AddCleanup(c, func(gone *atomic.Bool) { gone.Store(true) }, &gone)
	}()
	assert.Eventually(t, func() bool {
		runtime.GC()
		return gone.Load()
	}, 10*time.Second, 50*time.Millisecond)
}

func TestTheListKeepsTheOrderOfUse(t *testing.T) {
	var l lru[int]
	nodes := make([]*node[int], 4)
	for i := range nodes {
		nodes[i] = &node[int]{key: i}
		l.push(nodes[i])
	}
	l.use(nodes[0])
	l.use(nodes[0])
	l.remove(nodes[2])
	l.remove(nodes[2])
	l.use(nodes[2]) // is not there
	var order []int
	for l.len > 0 {
		order = append(order, l.oldest().key)
		l.remove(l.oldest())
	}
	assert.Equal(t, []int{1, 3, 0}, order)
	l.push(nodes[2])
	l.clear()
	assert.Zero(t, l.len)
	assert.False(t, nodes[2].linked())
}
