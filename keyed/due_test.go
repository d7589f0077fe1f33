package keyed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// In these tests, a pair's timeout has expired and its callback has not started. An
// operation at this moment must win over the expiry completely, or lose completely.

// dueWheel returns a wheel in that state, with key 1 and value 11. run starts the due
// callbacks, and returns the number of expired timeouts.
func dueWheel(t *testing.T) (w *keyed.Wheel[int, int], r *recorder, run func() int) {
	executor := new(holding)
	w, r = newWheel(t, newTimer(t, 8, hashedwheel.Options{Executor: executor}))
	set(t, w, 1, 11, time.Second)
	pass(2 * time.Second)
	return w, r, executor.release
}

func TestDuePairIsPendingUntilItsCallback(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		assert.True(t, w.Has(1))
		assert.Equal(t, 1, w.Len())
		require.Equal(t, 1, run())
		assert.Equal(t, []int{11}, r.values())
		assert.False(t, w.Has(1))
	})
}

func TestSetOnADuePairReplacesIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		set(t, w, 1, 12, time.Second)
		require.Equal(t, 1, run())
		assert.Empty(t, r.take(), "the old pair is gone")
		pass(2 * time.Second)
		require.Equal(t, 1, run())
		assert.Equal(t, []int{12}, r.values())
	})
}

func TestMoveOnADuePairSavesIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		moved, err := w.Move(1, time.Minute)
		require.NoError(t, err)
		assert.True(t, moved)
		require.Equal(t, 1, run())
		assert.Empty(t, r.take())
		assert.True(t, w.Has(1))
		pass(2 * time.Minute)
		require.Equal(t, 1, run())
		assert.Equal(t, []int{11}, r.values())
	})
}

func TestDeleteOnADuePairDeletesIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		assert.True(t, w.Delete(1))
		set(t, w, 1, 12, time.Minute)
		require.Equal(t, 1, run())
		assert.Empty(t, r.take(), "the old timeout does not fire the new pair")
		assert.True(t, w.Has(1))
	})
}

func TestPairThatIsDueTwiceFiresOnce(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		set(t, w, 1, 12, time.Second)
		pass(2 * time.Second)
		require.Equal(t, 2, run(), "the old timeout and the new one")
		assert.Equal(t, []int{12}, r.values())
		assert.Equal(t, keyed.Stats{Fired: 1}, w.Stats())
	})
}

func TestDrainOnADuePairTakesIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		var drained []int
		require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) { drained = append(drained, e.Value) }))
		require.Equal(t, 1, run())
		assert.Equal(t, []int{11}, drained)
		assert.Empty(t, r.take())
	})
}

func TestCloseOnADuePairCancelsIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		w, r, run := dueWheel(t)
		w.Close()
		require.Equal(t, 1, run())
		assert.Empty(t, r.take())
		assert.EqualValues(t, 1, w.Stats().Cancelled)
	})
}

func TestRejectedMoveDoesNotStopTheCallback(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		executor := new(holding)
		timer := newTimer(t, 8, hashedwheel.Options{Executor: executor, MaxPendingTimeouts: 1})
		w, r := newWheel(t, timer)
		set(t, w, 1, 11, time.Second)
		pass(2 * time.Second)
		set(t, w, 2, 22, time.Hour) // takes the timer's only place
		moved, err := w.Move(1, time.Minute)
		assert.False(t, moved)
		assert.ErrorIs(t, err, hwt.ErrTooManyPending)
		assert.ErrorIs(t, w.Set(1, 12, time.Minute), hwt.ErrTooManyPending)
		executor.release()
		assert.Equal(t, []int{11}, r.values())
	})
}
