package keyed_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

// keeping is a timer that keeps the tasks of all timeouts, as a timer may for a while.
type keeping struct {
	hwt.Timer
	tasks []hwt.TimerTask
}

func (k *keeping) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	k.tasks = append(k.tasks, task)
	return k.Timer.NewTimeout(task, delay)
}

// The test needs the real garbage collector.
func TestValueOfAPairThatEndedTakesNoMemory(t *testing.T) {
	for name, end := range map[string]func(w *keyed.Wheel[int, *[64]byte]){
		"deleted": func(w *keyed.Wheel[int, *[64]byte]) { w.Delete(1) },
		"set":     func(w *keyed.Wheel[int, *[64]byte]) { w.Set(1, nil, time.Hour) },
		"drained": func(w *keyed.Wheel[int, *[64]byte]) { w.Drain(func(keyed.Entry[int, *[64]byte]) {}) },
		"closed":  func(w *keyed.Wheel[int, *[64]byte]) { w.Close() },
		"fired": func(w *keyed.Wheel[int, *[64]byte]) {
			w.Move(1, 0)
			assert.Eventually(t, func() bool { return w.Stats().Fired == 1 }, time.Minute, time.Millisecond)
		},
	} {
		timer := &keeping{Timer: newTimer(t, 8)}
		w, err := keyed.New(timer, func(int, *[64]byte) {}, nil)
		require.NoError(t, err)
		var gone atomic.Bool
		value := new([64]byte)
		runtime.AddCleanup(value, func(gone *atomic.Bool) { gone.Store(true) }, &gone)
		require.NoError(t, w.Set(1, value, time.Hour))
		value = nil
		end(w)
		assert.Eventually(t, func() bool {
			runtime.GC()
			return gone.Load()
		}, 5*time.Second, time.Millisecond, name)
		runtime.KeepAlive(timer)
	}
}

// The pair waits on the executor for its callback while a Set replaces it.
func TestReplacedDuePairForgetsItsValue(t *testing.T) {
	executor := new(holding)
	timer := newTimer(t, 8, hashedwheel.Options{Executor: executor})
	w, err := keyed.New(timer, func(int, *[64]byte) {}, nil)
	require.NoError(t, err)
	var gone atomic.Bool
	value := new([64]byte)
	runtime.AddCleanup(value, func(gone *atomic.Bool) { gone.Store(true) }, &gone)
	require.NoError(t, w.Set(1, value, 0))
	value = nil
	require.Eventually(t, executor.holds, time.Minute, time.Millisecond)
	require.NoError(t, w.Set(1, nil, time.Hour))
	assert.Eventually(t, func() bool {
		runtime.GC()
		return gone.Load()
	}, 5*time.Second, time.Millisecond)
	runtime.KeepAlive(executor)
	w.Close()
}
