package keyed_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

func TestCallsAfterCloseAreRejected(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		for key := range 100 {
			set(t, w, key, key, time.Second)
		}
		w.Close()
		assert.EqualValues(t, 100, w.Stats().Cancelled)
		assert.ErrorIs(t, w.Set(1, 1, time.Second), keyed.ErrClosed)
		_, err := w.Move(1, time.Second)
		assert.ErrorIs(t, err, keyed.ErrClosed)
		assert.False(t, w.Delete(1))
		assert.False(t, w.Update(1, increment))
		assert.ErrorIs(t, w.Drain(func(keyed.Entry[int, int]) {}), keyed.ErrClosed)
		assert.False(t, w.Has(1))
		_, ok := w.Get(1)
		assert.False(t, ok)
		_, ok = w.Due(1)
		assert.False(t, ok)
		assert.Zero(t, w.Len())
		for range w.All() {
			t.Error("a pair after Close")
		}
		pass(time.Minute)
		assert.Empty(t, r.take())
	})
}

func TestClosingTwiceCountsOnce(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	set(t, w, 1, 11, time.Hour)
	var closer io.Closer = w
	require.NoError(t, closer.Close())
	require.NoError(t, closer.Close())
	assert.Equal(t, keyed.Stats{Cancelled: 1}, w.Stats())
}

func TestCloseDoesNotStopTheTimer(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, 8)
		w, _ := newWheel(t, timer)
		set(t, w, 1, 11, time.Hour)
		w.Close()
		assert.Zero(t, timer.Pending(), "its timeouts are cancelled")
		ran := false
		_, err := timer.AfterFunc(time.Second, func() { ran = true })
		require.NoError(t, err)
		pass(time.Minute)
		assert.True(t, ran)
	})
}

func TestCloseFromWithinACallback(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		var w *keyed.Wheel[int, int]
		fired := 0
		w, err := keyed.New(timer, func(int, int) {
			fired++
			w.Close()
		}, nil)
		require.NoError(t, err)
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 22, time.Minute)
		pass(time.Hour)
		assert.Equal(t, 1, fired)
		assert.EqualValues(t, 1, w.Stats().Cancelled)
	})
}
