package keyed_test

import (
	"encoding/json"
	"math"
	"slices"
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

func TestAllYieldsThePendingPairsAndMayChangeThem(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, _ := newWheel(t, timer)
		var want []keyed.Entry[int, int]
		for key := range 1000 {
			delay := time.Hour + time.Duration(key)
			set(t, w, key, key*key, delay)
			want = append(want, keyed.Entry[int, int]{Key: key, Value: key * key, Due: time.Now().Add(delay)})
		}
		assert.ElementsMatch(t, want, slices.Collect(w.All()))
		for e := range w.All() {
			w.Delete(e.Key)
			if e.Key == 500 {
				break
			}
		}
		for e := range w.All() {
			w.Delete(e.Key)
		}
		assert.Zero(t, w.Len())
	})
}

func TestDueFollowsThePair(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, _ := newWheel(t, wrappingTimer{timer})
		due := func(left time.Duration) {
			t.Helper()
			at, ok := w.Due(1)
			assert.True(t, ok)
			assert.Equal(t, left, time.Until(at))
		}
		_, ok := w.Due(1)
		assert.False(t, ok)
		set(t, w, 1, 11, time.Minute)
		due(time.Minute)
		pass(time.Second)
		due(59 * time.Second)
		assert.True(t, w.Update(1, increment))
		due(59 * time.Second)
		move(t, w, 1, time.Hour)
		due(time.Hour)
		set(t, w, 1, 12, time.Second)
		due(time.Second)
		pass(time.Second + tick)
		_, ok = w.Due(1)
		assert.False(t, ok)
	})
}

func TestPairOfAStoppedTimerKeepsItsDueTime(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, _ := newWheel(t, timer)
		set(t, w, 1, 11, time.Minute)
		timer.Stop()
		pass(2 * time.Minute)
		due, ok := w.Due(1)
		assert.True(t, ok)
		assert.Equal(t, -time.Minute, time.Until(due))
	})
}

func TestPairOfARejectedCallbackIsDueAtItsRetry(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, _ := newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: new(refusing)}),
			keyed.Options[int, int]{ErrorHandler: func(int, int, error) {}})
		set(t, w, 1, 11, time.Second)
		pass(time.Second + tick/2)
		due, ok := w.Due(1)
		assert.True(t, ok)
		assert.InDelta(t, keyed.RetryDelay, time.Until(due), float64(tick))
	})
}

func TestEntrySurvivesItsEncoding(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, _ := newWheel(t, timer)
		for key, delay := range []time.Duration{time.Second, time.Minute, math.MaxInt64} {
			set(t, w, key, -key, delay)
		}
		saved, err := json.Marshal(slices.Collect(w.All()))
		require.NoError(t, err)
		w.Close()
		pass(10 * time.Second)

		var entries []keyed.Entry[int, int]
		require.NoError(t, json.Unmarshal(saved, &entries))
		w, r := newWheel(t, timer)
		left := map[int]time.Duration{}
		for _, e := range entries {
			left[e.Key] = e.Left()
			set(t, w, e.Key, e.Value, e.Left())
		}
		assert.Equal(t, map[int]time.Duration{0: -9 * time.Second, 1: 50 * time.Second, 2: math.MaxInt64}, left)
		pass(tick)
		assert.Equal(t, []int{0}, r.values(), "it is overdue")
		due, ok := w.Due(2)
		assert.True(t, ok)
		assert.Zero(t, due, "it never is")
		pass(50 * time.Second)
		assert.Equal(t, []int{-1}, r.values())
	})
}

// TestEntryIsThePairAtOneMoment sets values and delays that belong together. The real clock
// provokes races.
func TestEntryIsThePairAtOneMoment(t *testing.T) {
	const sets = 100_000
	w, _ := newWheel(t, newTimer(t, 8))
	set(t, w, 1, 1, time.Hour)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range sets {
			hours := 1 + i%5
			assert.NoError(t, w.Set(1, hours, time.Duration(hours)*time.Hour))
		}
	})
	for range sets / 5 {
		for e := range w.All() {
			if left := e.Left().Hours(); math.Abs(left-float64(e.Value)) > 0.5 {
				t.Fatalf("an entry has the value %d and %.1f hours left", e.Value, left)
			}
		}
	}
	all.Wait()
	w.Close()
}
