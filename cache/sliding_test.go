package cache_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
)

// newSliding returns a cache whose entries expire when unused for ten seconds, and after a
// minute at the latest.
func newSliding(t *testing.T, o options) (*cache.Cache[string, int], *ends) {
	e := new(ends)
	o.Timer, o.Sliding, o.OnEvict = newTimer(t), 10*time.Second, e.add
	return newCache(t, o), e
}

// step is the resolution of recorded uses: an entry may live this much longer.
const step = 10*time.Second/1024 + 1

func TestUnusedEntryExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, limit := range []int{0, 5} {
			c, ends := newSliding(t, options{Limit: limit})
			set(t, c, "a", 1)
			pass(10*time.Second - 1)
			assert.Equal(t, 1, c.Len())
			pass(1)
			_, ok := c.TTL("a")
			assert.False(t, ok)
			pass(late)
			assert.Zero(t, c.Len())
			assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
		}
	})
}

func TestEveryUsePostponesExpiry(t *testing.T) {
	uses := map[string]func(c *cache.Cache[string, int]){
		"Get":   func(c *cache.Cache[string, int]) { assert.True(t, holds(c, "a", 1)) },
		"Touch": func(c *cache.Cache[string, int]) { assert.True(t, c.Touch("a")) },
		"GetOrFetch": func(c *cache.Cache[string, int]) {
			_, err := c.GetOrFetch(t.Context(), "a", unexpected)
			assert.NoError(t, err)
		},
		"Set": func(c *cache.Cache[string, int]) { assert.NoError(t, c.SetWithTTL("a", 1, time.Minute/2)) },
	}
	for name, use := range uses {
		bubble(t, func(t *testing.T) {
			c, _ := newSliding(t, options{})
			setFor(t, c, "a", 1, time.Minute/2)
			pass(9 * time.Second)
			use(c)
			pass(10*time.Second - 1)
			assert.Equal(t, 1, c.Len(), name)
			pass(1 + step + late)
			assert.Zero(t, c.Len(), name)
		})
	}
}

func TestTTLBoundsSliding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, ends := newSliding(t, options{})
		set(t, c, "a", 1)
		for range 7 {
			pass(8 * time.Second)
			assert.True(t, has(c, "a"))
		}
		left, ok := c.TTL("a")
		assert.True(t, ok)
		assert.Equal(t, 4*time.Second, left)
		pass(4*time.Second - 1)
		assert.True(t, has(c, "a"))
		pass(1)
		assert.False(t, has(c, "a"), "the TTL is exact, despite a recent use")
		pass(late)
		assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
	})
}

func TestSlidingWithoutATTLHasNoBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newSliding(t, options{})
		setFor(t, c, "a", 1, cache.NoExpiry)
		for range 1000 {
			pass(9 * time.Second)
			assert.True(t, has(c, "a"))
		}
		pass(10*time.Second + step + late)
		assert.Zero(t, c.Len())
	})
}

func TestLogoutIsNotUndoneByARacingRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, ends := newSliding(t, options{})
		set(t, c, "a", 1)
		value, ok := c.GetAndDelete("a")
		assert.True(t, ok)
		assert.Equal(t, 1, value)
		assert.False(t, has(c, "a"))
		assert.False(t, c.Touch("a"))
		pass(time.Hour)
		assert.Equal(t, []end{{"a", 1, cache.ReasonDeleted}}, ends.take())
	})
}

func TestTTLShorterThanSlidingCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newSliding(t, options{})
		setFor(t, c, "a", 1, time.Second)
		pass(time.Second - 1)
		assert.True(t, has(c, "a"))
		pass(1)
		assert.False(t, has(c, "a"))
	})
}

// hookedTimer calls a function in each Reset.
type hookedTimer struct {
	hwt.Timer
	inReset func()
}

func (h *hookedTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	timeout, err := h.Timer.NewTimeout(task, delay)
	return hookedTimeout{timeout, h}, err
}

type hookedTimeout struct {
	hwt.Timeout
	timer *hookedTimer
}

func (t hookedTimeout) Reset(delay time.Duration) bool {
	t.timer.inReset()
	return t.Timeout.Reset(delay)
}

// TestEntryIsFoundWhileASetReplacesIt looks it up while the Set resets the cache's timeout.
func TestEntryIsFoundWhileASetReplacesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, limit := range []int{0, 5} {
			timer := &hookedTimer{Timer: newTimer(t)}
			c := newCache(t, options{Timer: timer, Sliding: 10 * time.Second, Limit: limit})
			set(t, c, "a", 1)
			resets := 0
			timer.inReset = func() {
				resets++
				left, ok := c.TTL("a")
				assert.Equal(t, 10*time.Second, left)
				if assert.True(t, ok) { // or else a Get would wait for the Set
					assert.True(t, holds(c, "a", 1))
				}
			}
			setFor(t, c, "a", 2, time.Second)
			assert.Equal(t, 1, resets)
			assert.True(t, holds(c, "a", 2))
		}
	})
}

// TestLoopsFindEntriesThatAreReplaced replaces all entries during each step of a loop.
func TestLoopsFindEntriesThatAreReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 300
		c, _ := newSliding(t, options{})
		setAll := func() {
			for i := range n {
				set(t, c, fmt.Sprint("key ", i), i)
			}
		}
		setAll()
		found := 0
		for range c.All() {
			found++
			setAll()
		}
		assert.Equal(t, n, found, "All")
		found = 0
		c.DeleteFunc(func(string, int) bool {
			found++
			setAll()
			return false
		})
		assert.Equal(t, n, found, "DeleteFunc")
		var saved bytes.Buffer
		require.NoError(t, c.Save(writerFunc(func(p []byte) (int, error) {
			setAll()
			return saved.Write(p)
		})))
		c.Clear()
		loaded, err := c.Load(&saved)
		require.NoError(t, err)
		assert.Equal(t, n, loaded, "Save")
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSlidingUnderConcurrentUse checks on the real clock that an entry in use
// never expires, and that a value never disappears while it is replaced.
func TestSlidingUnderConcurrentUse(t *testing.T) {
	onProcs(func() {
		var lost atomic.Int64
		c, err := cache.New(time.Hour, &options{
			Timer:   newTimer(t),
			Sliding: time.Minute,
			OnEvict: func(_ string, _ int, reason cache.Reason) {
				if reason != cache.ReasonReplaced && reason != cache.ReasonClosed {
					lost.Add(1)
				}
			},
		})
		require.NoError(t, err)
		set(t, c, "a", 0)
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 5000 {
					switch {
					case g == 0 && i%3 == 0:
						assert.NoError(t, c.SetWithTTL("a", i, time.Minute+rand.N(time.Minute)))
					case g == 1 && i%7 == 0: // makes and frees slots
						assert.NoError(t, c.SetWithTTL("b", i, 0))
						assert.NoError(t, c.SetWithTTL("b", i, time.Minute))
					default:
						if !has(c, "a") {
							lost.Add(1)
						}
					}
				}
			})
		}
		all.Wait()
		assert.Zero(t, lost.Load())
		c.Close()
	})
}
