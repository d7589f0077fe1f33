package keyed_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

// The tests in this file use timers that wrap tasks and timeouts, as metrics and
// tracing do.

// wrappingTimer wraps each task and timeout. Its timeouts have a type that is not
// comparable, which the interface allows.
type wrappingTimer struct{ hwt.Timer }

type wrappedTask struct{ hwt.TimerTask }

type wrappedTimeout struct {
	hwt.Timeout
	_ []int // a comparison panics
}

func (w wrappingTimer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	t, err := w.Timer.NewTimeout(wrappedTask{task}, delay)
	if err != nil {
		return nil, err
	}
	return wrappedTimeout{Timeout: t}, nil
}

func (w wrappedTask) Run(t hwt.Timeout) error { return w.TimerTask.Run(wrappedTimeout{Timeout: t}) }

func TestTimerThatWrapsTasksFiresEveryPair(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, wrappingTimer{timer})
		set(t, w, 1, 11, time.Second)
		set(t, w, 2, 21, time.Hour)
		set(t, w, 2, 22, time.Second) // a known key
		set(t, w, 3, 33, time.Hour)
		moved, err := w.Move(3, time.Second)
		require.NoError(t, err)
		assert.True(t, moved)
		updated, err := w.Update(3, func(int) int { return 30 })
		require.NoError(t, err)
		assert.True(t, updated)
		assert.Len(t, slices.Collect(w.All()), 3)
		set(t, w, 4, 44, time.Second)
		assert.True(t, w.Delete(4))
		pass(time.Minute)
		assert.ElementsMatch(t, []int{11, 22, 30}, r.values())
		assert.Equal(t, keyed.Stats{Fired: 3}, w.Stats())
		pass(2 * time.Hour)
		assert.Empty(t, r.take())
	})
}
