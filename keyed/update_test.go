package keyed_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

func increment(v int) int { return v + 1 }

func TestUpdateChangesTheValueAndKeepsTheDueTime(t *testing.T) {
	for name, wrap := range map[string]func(hwt.Timer) hwt.Timer{
		"plain":   func(timer hwt.Timer) hwt.Timer { return timer },
		"wrapped": func(timer hwt.Timer) hwt.Timer { return wrappingTimer{timer} },
	} {
		onEngines(t, func(t *testing.T, timer hwt.Timer) {
			w, r := newWheel(t, wrap(timer))
			due := time.Now().Add(time.Minute)
			set(t, w, 1, 11, time.Minute)
			for range 3 {
				pass(time.Second)
				assert.True(t, w.Update(1, increment))
			}
			value, _ := w.Get(1)
			assert.Equal(t, 14, value, name)
			pass(time.Hour)
			events := r.take()
			require.Len(t, events, 1, name)
			assert.Equal(t, 14, events[0].value)
			assert.WithinRange(t, events[0].at, due, due.Add(tick))
			assert.False(t, w.Update(1, increment), "unknown")
		})
	}
}

func TestUpdatedPairCanBeChangedAndFires(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		for key := range 4 {
			set(t, w, key, 10*key, time.Minute)
			assert.True(t, w.Update(key, increment))
		}
		move(t, w, 0, time.Second)
		set(t, w, 1, 12, time.Hour)
		w.Delete(2)
		pass(2 * time.Second)
		assert.Equal(t, []int{1}, r.values(), "moved")
		pass(2 * time.Minute)
		assert.Equal(t, []int{31}, r.values(), "the replaced and the removed pair do not fire")
		pass(2 * time.Hour)
		assert.Equal(t, []int{12}, r.values())
		if engine, ok := timer.(hwt.Engine); assert.True(t, ok) {
			assert.Zero(t, engine.Pending())
		}
	})
}

func TestUpdateRunsAgainIfThePairChanged(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, _ := newWheel(t, newTimer(t, 8))
		set(t, w, 1, 11, time.Minute)
		calls := 0
		assert.True(t, w.Update(1, func(v int) int {
			if calls++; calls == 1 {
				set(t, w, 1, 21, time.Minute)
			}
			return v + 1
		}))
		assert.Equal(t, 2, calls)
		value, _ := w.Get(1)
		assert.Equal(t, 22, value)

		assert.False(t, w.Update(1, func(v int) int {
			w.Delete(1)
			return v + 1
		}), "it was removed meanwhile")
		assert.False(t, w.Has(1))

		set(t, w, 1, 31, time.Minute)
		assert.False(t, w.Update(1, func(v int) int {
			w.Close()
			return v + 1
		}), "it was cancelled meanwhile")
	})
}

func TestUpdateSeesAValueSetAtThePendingLimit(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r := newWheel(t, newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1}))
		set(t, w, 1, 11, time.Minute)
		calls := 0
		assert.True(t, w.Update(1, func(v int) int {
			if calls++; calls == 1 {
				set(t, w, 1, 21, time.Minute) // resets the timeout at the pending limit
			}
			return v + 1
		}))
		assert.Equal(t, 2, calls)
		pass(time.Hour)
		assert.Equal(t, []int{22}, r.values())
	})
}

func TestUpdateOnADuePairChangesIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		assert.True(t, w.Update(1, increment))
		require.Equal(t, 1, run())
		assert.Equal(t, []int{12}, r.values())
	})
}

func TestPanicOfUpdatesFunctionLeavesThePair(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	set(t, w, 1, 11, time.Hour)
	assert.Panics(t, func() { w.Update(1, func(int) int { panic("broken") }) })
	value, _ := w.Get(1)
	assert.Equal(t, 11, value)
	set(t, w, 1, 12, time.Hour) // the lock is free
}

// TestNoUpdateIsLost counts with Update while other operations race with it.
func TestNoUpdateIsLost(t *testing.T) {
	const goroutines, each = 4, 1000
	onProcs(func() {
		w, err := keyed.New(fineTimer(t), func(int, int) {}, nil)
		require.NoError(t, err)
		require.NoError(t, w.Set(1, 0, time.Hour))
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range each {
					assert.True(t, w.Update(1, increment))
					w.Move(1, time.Hour+rand.N(time.Hour))
				}
			})
		}
		all.Wait()
		value, _ := w.Get(1)
		assert.Equal(t, goroutines*each, value)
		w.Close()
	})
}
