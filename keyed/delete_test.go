package keyed_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

func TestGetAndDeleteReturnsTheValue(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		value, ok := w.GetAndDelete(1)
		assert.True(t, ok)
		assert.Equal(t, 11, value)
		_, ok = w.GetAndDelete(1)
		assert.False(t, ok)
		pass(time.Minute)
		assert.Empty(t, r.take())
	})
}

func TestGetAndDeleteOfADuePairEndsIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		value, ok := w.GetAndDelete(1)
		assert.True(t, ok)
		assert.Equal(t, 11, value)
		require.Equal(t, 1, run())
		assert.Empty(t, r.take())
	})
}

func TestSetIfAbsentSetsOnlyAnUnknownKey(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		ok, err := w.SetIfAbsent(1, 11, time.Second)
		require.NoError(t, err)
		assert.True(t, ok)
		ok, err = w.SetIfAbsent(1, 12, time.Minute)
		require.NoError(t, err)
		assert.False(t, ok)
		pass(2 * time.Second)
		assert.Equal(t, []int{11}, r.values(), "value and delay are unchanged")
		ok, err = w.SetIfAbsent(1, 13, time.Second)
		require.NoError(t, err)
		assert.True(t, ok, "the key is unknown again")
		w.Close()
		_, err = w.SetIfAbsent(1, 14, time.Second)
		assert.ErrorIs(t, err, keyed.ErrClosed)
	})
}

func TestSetIfAbsentReturnsTheTimersError(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, _ := newWheel(t, newTimer(t, 8, hashedwheel.Options{MaxPendingTimeouts: 1}))
		set(t, w, 1, 11, time.Second)
		ok, err := w.SetIfAbsent(2, 22, time.Second)
		assert.False(t, ok)
		assert.ErrorIs(t, err, hwt.ErrTooManyPending)
		assert.False(t, w.Has(2))
		ok, err = w.SetIfAbsent(1, 12, time.Second)
		assert.False(t, ok)
		assert.NoError(t, err)
	})
}

func TestWritesRejectKeysUnequalToThemselves(t *testing.T) {
	w, err := keyed.New(newTimer(t, 8), func(float64, int) {}, nil)
	require.NoError(t, err)
	nan := math.NaN()
	_, err = w.SetIfAbsent(nan, 1, time.Hour)
	assert.ErrorIs(t, err, keyed.ErrInvalidKey)
	assert.False(t, w.Update(nan, func(v int) int { return v }))
}

func TestOneOfSeveralRacingSetIfAbsentsSets(t *testing.T) {
	onProcs(func() {
		w, err := keyed.New(fineTimer(t), func(int, int) {}, nil)
		require.NoError(t, err)
		const keys, goroutines = 500, 4
		won := make([]atomic.Int64, keys)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for key := range keys {
					if ok, err := w.SetIfAbsent(key, g, time.Hour); assert.NoError(t, err) && ok {
						won[key].Add(1)
					}
				}
			})
		}
		all.Wait()
		for key := range won {
			assert.EqualValues(t, 1, won[key].Load())
		}
		w.Close()
	})
}
