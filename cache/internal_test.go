package cache

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt"
)

func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the sizes are those of 64 bits")
	}
	assert.EqualValues(t, 24, unsafe.Sizeof(slot[int64]{}))
	assert.EqualValues(t, 32, unsafe.Sizeof(slot[string]{}))
	assert.EqualValues(t, 16, unsafe.Sizeof(use{}))
	assert.EqualValues(t, 24, unsafe.Sizeof(item[*int]{}))
}

func TestRefNamesItsSlot(t *testing.T) {
	r := newRef(255, 65535, 1<<31)
	assert.Equal(t, 255, r.stripe())
	assert.Equal(t, uint16(65535), r.gen())
	assert.Equal(t, uint32(1<<31), r.slot())
}

func TestFreedSlotIsUsedAgainWithAnotherGeneration(t *testing.T) {
	var s slots[int]
	for i := range 3 * chunkSize {
		assert.EqualValues(t, i+1, s.alloc(i))
	}
	assert.Equal(t, 77, s.at(78).key)
	s.release(78)
	assert.Zero(t, s.at(78).key, "the key is not kept")
	assert.EqualValues(t, 78, s.alloc(5))
	assert.EqualValues(t, 1, s.at(78).gen)
	assert.EqualValues(t, 3*chunkSize+1, s.alloc(6))
}

// TestEveryRefIsUsedOnce allocates and releases thousands of slots. A slot in use is never
// allocated, a ref is never returned twice, and lookups by any ref are safe.
func TestEveryRefIsUsedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := slots[int]{limited: true, sliding: true}
		var live []uint32
		seen := map[ref]bool{}
		count := rapid.IntRange(1, 5*chunkSize)
		rt.Repeat(map[string]func(*rapid.T){
			"alloc": func(rt *rapid.T) {
				for range count.Draw(rt, "count") {
					n := s.alloc(7)
					require.False(rt, slices.Contains(live, n), "slot %d is in use", n)
					r := newRef(0, s.at(n).gen, n)
					require.False(rt, seen[r], "slot %d has an old generation", n)
					seen[r] = true
					live = append(live, n)
				}
			},
			"release": func(rt *rapid.T) {
				for range min(count.Draw(rt, "count"), len(live)) {
					s.release(live[0])
					live = live[1:]
				}
			},
			"": func(rt *rapid.T) {
				valid := 0
				for r := range seen {
					s.use(r.slot())
					if idle := s.idle(r.slot()); idle != nil && idle.gen.Load() == uint32(r.gen()) {
						valid++
					}
				}
				require.Equal(rt, len(live), valid, "as many valid refs as slots in use")
				held := int(s.made) - len(s.gone)
				full := 0
				for i := range s.made {
					if s.numbered(i).live > 0 {
						full++
					}
				}
				require.LessOrEqual(rt, held-full, max(spareChunks, held/2), "most empty chunks are released")
			},
		})
	})
}

// TestWheelPopsEachSlotAtItsDueTick compares the wheel with a map.
func TestWheelPopsEachSlotAtItsDueTick(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s slots[int]
		var w wheel[int]
		due := map[uint32]int64{}
		filed := map[uint32]int64{} // tick at which each slot was last stored
		now := rapid.Int64Range(0, 1<<40).Draw(rt, "start")
		w.now = now
		delay := rapid.Custom(func(rt *rapid.T) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(0, 41).Draw(rt, "bits")).Draw(rt, "delay")
		})
		rt.Repeat(map[string]func(*rapid.T){
			"file": func(rt *rapid.T) {
				n, tick := s.alloc(0), now+delay.Draw(rt, "tick")
				start := w.file(&s, n, tick)
				require.LessOrEqual(rt, start, tick, "the bucket begins no later")
				due[n], filed[n] = tick, w.now
			},
			"unfile": func(rt *rapid.T) {
				for n := range due {
					w.unfile(&s, n)
					s.release(n)
					delete(due, n)
					break
				}
			},
			"advance": func(rt *rapid.T) {
				now += delay.Draw(rt, "advance")
				for {
					n, more := w.pop(&s, now)
					if n == 0 && !more {
						break
					}
					if n == 0 {
						continue
					}
					if due[n] > now {
						require.Greater(rt, due[n]-filed[n], int64(maxFarTicks), "only a far slot is popped early")
						w.file(&s, n, due[n])
						filed[n] = w.now
						continue
					}
					delete(due, n)
					s.release(n)
				}
				for n, tick := range due {
					require.Greater(rt, tick, now, "slot %d was not popped", n)
				}
			},
			"": func(rt *rapid.T) {
				tick, n := w.next()
				require.Equal(rt, len(due) == 0, n == 0)
				for _, d := range due {
					require.LessOrEqual(rt, tick, d, "Next is not after the earliest slot")
				}
			},
		})
	})
}

func TestPopReleasesALargeBucket(t *testing.T) {
	var s slots[int]
	var w wheel[int]
	const n = 10 * maxRefiles
	for range n {
		w.file(&s, s.alloc(0), 1<<20+rand.Int64N(1000)) // one bucket of a high level
	}
	calls, popped := 0, 0
	for more := true; more; calls++ {
		var slot uint32
		if slot, more = w.pop(&s, 1<<20-1); slot != 0 {
			popped++
		}
	}
	assert.Zero(t, popped, "nothing is due")
	calls = 0
	for more := true; more; calls++ {
		var slot uint32
		if slot, more = w.pop(&s, 1<<20); slot != 0 {
			popped++
		}
	}
	assert.Greater(t, calls-popped, 1, "the bucket was reinserted in parts")
	for more := true; more; {
		var slot uint32
		if slot, more = w.pop(&s, 1<<20+1000); slot != 0 {
			popped++
		}
	}
	assert.Equal(t, n, popped)
}

func TestSieveSparesUsedSlots(t *testing.T) {
	s := slots[int]{limited: true}
	var v sieve[int]
	for i := range 5 {
		v.push(&s, s.alloc(i))
	}
	evict := func() int { return int(v.evict(&s, 0)) }
	s.use(1).used.Store(true)
	s.use(3).used.Store(true)
	assert.Equal(t, 2, evict())
	assert.Equal(t, 4, evict())
	v.push(&s, 2)
	assert.Equal(t, 5, evict())
	assert.Equal(t, 2, evict(), "the hand moves to newer slots")
	assert.Equal(t, 1, evict(), "and starts again; the mark is cleared")
	v.remove(&s, 1)
	assert.Equal(t, 1, v.len)
	v.push(&s, 4)
	v.push(&s, 5)
	assert.EqualValues(t, 4, v.evict(&s, 3), "not the kept one")
	v.remove(&s, 5)
	assert.Equal(t, 3, evict())
	assert.Zero(t, v.len)
	assert.Zero(t, v.oldest)
	assert.Zero(t, v.newest)
}

func TestSieveKeepsItsListUnderAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := slots[int]{limited: true}
		var v sieve[int]
		for i := range 10 {
			s.alloc(i)
		}
		var order []uint32 // oldest first
		slot := rapid.Uint32Range(1, 10)
		rt.Repeat(map[string]func(*rapid.T){
			"push": func(rt *rapid.T) {
				if n := slot.Draw(rt, "slot"); !slices.Contains(order, n) {
					v.push(&s, n)
					order = append(order, n)
				}
			},
			"remove": func(rt *rapid.T) {
				n := slot.Draw(rt, "slot")
				v.remove(&s, n)
				order = slices.DeleteFunc(order, func(m uint32) bool { return m == n })
			},
			"use": func(rt *rapid.T) { s.use(slot.Draw(rt, "slot")).used.Store(true) },
			"evict": func(rt *rapid.T) {
				if len(order) > 0 {
					n := v.evict(&s, 0)
					order = slices.DeleteFunc(order, func(m uint32) bool { return m == n })
				}
			},
			"": func(rt *rapid.T) {
				require.Equal(rt, len(order), v.len)
				var got []uint32
				for n := v.oldest; n != 0; n = s.use(n).newer {
					got = append(got, n)
				}
				require.True(rt, slices.Equal(order, got), "%v %v", order, got)
				slices.Reverse(got)
				var back []uint32
				for n := v.newest; n != 0; n = s.use(n).older {
					back = append(back, n)
				}
				require.True(rt, slices.Equal(got, back), "%v %v", got, back)
			},
		})
	})
}

// TestJoinReturnsAValueThatWasJustStored joins after another flight has finished, as a
// GetOrFetch does that missed before the end of the flight.
func TestJoinReturnsAValueThatWasJustStored(t *testing.T) {
	c, err := New[int, int](time.Hour, nil)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	f, leads, err := c.join(1, nil)
	require.NoError(t, err)
	require.False(t, leads)
	<-f.done
	assert.Equal(t, 11, f.value)
	assert.NoError(t, f.err)
}

// fullTimer is a timer whose timeouts cannot be reset.
type fullTimer struct {
	hwt.Timer
	err error // of NewTimeout
}

func (f *fullTimer) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) {
	return fullTimeout{}, f.err
}

type fullTimeout struct{ hwt.Timeout }

func (fullTimeout) Reset(time.Duration) bool { return false }
func (fullTimeout) IsCancelled() bool        { return false }
func (fullTimeout) Cancel() bool             { return true }

func TestReplacedEntryFreesItsSlot(t *testing.T) {
	for _, limit := range []int{0, 5} {
		timer := new(fullTimer)
		c, err := New(time.Hour, &Options[int, int]{Timer: timer, Sliding: time.Minute, Limit: limit})
		require.NoError(t, err)
		inUse := func() (n int) {
			for i := range c.stripes.all {
				s := &c.stripes.all[i].slots
				for j := range s.made {
					n += int(s.numbered(j).live)
				}
			}
			return n
		}
		for i := range 9 {
			require.NoError(t, c.SetWithTTL(1, i, time.Duration(10-i)*time.Second))
			assert.Equal(t, 1, inUse())
		}
		timer.err = hwt.ErrTooManyPending
		assert.ErrorIs(t, c.SetWithTTL(1, 9, time.Second), hwt.ErrTooManyPending)
		assert.Zero(t, inUse())
		assert.Zero(t, c.Len())
		c.Close()
	}
}

// TestDroppedCacheIsCollected waits for the garbage collector, on the real clock.
func TestDroppedCacheIsCollected(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the leak is reported
	var gone atomic.Bool
	func() {
		c, err := New[int, *[64]byte](10*time.Millisecond, nil)
		require.NoError(t, err)
		require.NoError(t, c.Set(1, new([64]byte)))
		runtime.AddCleanup(c, func(gone *atomic.Bool) { gone.Store(true) }, &gone)
	}()
	assert.Eventually(t, func() bool {
		runtime.GC()
		return gone.Load()
	}, 10*time.Second, 50*time.Millisecond)
}
