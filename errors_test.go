package hwt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/leak"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestPendingLimitErrorIsErrTooManyPending(t *testing.T) {
	err := fmt.Errorf("order 7: %w", &hwt.PendingLimitError{Pending: 3, Max: 2})
	require.ErrorIs(t, err, hwt.ErrTooManyPending)
	assert.NotErrorIs(t, err, hwt.ErrStopped)
	assert.NotErrorIs(t, err, hwt.ErrNilTask)
	var limit *hwt.PendingLimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, hwt.PendingLimitError{Pending: 3, Max: 2}, *limit)
}

func TestPendingLimitErrorNamesBothNumbers(t *testing.T) {
	assert.EqualError(t, &hwt.PendingLimitError{Pending: 3, Max: 2},
		"hwt: number of pending timeouts (3) is greater than or equal to maximum allowed pending timeouts (2)")
}

func TestPanicErrorShowsTheValue(t *testing.T) {
	assert.EqualError(t, &hwt.PanicError{Value: "no good"}, "hwt: panic: no good")
	assert.EqualError(t, &hwt.PanicError{Value: 42}, "hwt: panic: 42")
	assert.EqualError(t, &hwt.PanicError{Value: fs.ErrClosed}, "hwt: panic: file already closed")
	assert.EqualError(t, &hwt.PanicError{}, "hwt: panic: <nil>")
}

func TestPanicErrorUnwrapsToAnErrorValueOnly(t *testing.T) {
	assert.ErrorIs(t, &hwt.PanicError{Value: fmt.Errorf("reading: %w", fs.ErrClosed)}, fs.ErrClosed)
	assert.NoError(t, errors.Unwrap(&hwt.PanicError{Value: "file already closed"}))
	assert.NoError(t, errors.Unwrap(&hwt.PanicError{}))
}

func TestSentinelsDiffer(t *testing.T) {
	all := []error{hwt.ErrStopped, hwt.ErrNilTask, hwt.ErrTooManyPending}
	for i, a := range all {
		assert.Contains(t, a.Error(), "hwt: ")
		for j, b := range all {
			assert.Equal(t, i == j, errors.Is(a, b))
		}
	}
}

func TestErrInvalidMatchesEveryBadArgument(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	onTimer, err := clock.New(timer, nil)
	require.NoError(t, err)
	entries, err := cache.New[string, int](time.Hour, nil)
	require.NoError(t, err)
	defer entries.Close()
	pairs, err := keyed.New(timer, func(float64, int) {}, nil)
	require.NoError(t, err)
	daily, err := clock.ParseSpec("@daily")
	require.NoError(t, err)
	for name, err := range map[string]error{
		"task":               second(timer.NewTimeout(nil, 0)),
		"hashedwheel tick":   second(hashedwheel.New(&hashedwheel.Options{TickDuration: -1})),
		"hierarchical tick":  second(hierarchical.New(&hierarchical.Options{TickDuration: -1})),
		"runtime executor":   second(runtimetimer.New(&runtimetimer.Options{Executor: (*nilable)(nil)})),
		"keyed timer":        second(keyed.New(nil, func(int, int) {}, nil)),
		"keyed option":       second(keyed.New(timer, func(int, int) {}, &keyed.Options[int, int]{DrainWorkers: -1})),
		"keyed key":          pairs.Set(math.NaN(), 1, 0),
		"keyed drain":        pairs.Drain(nil),
		"cache ttl":          second(cache.New[int, int](0, nil)),
		"cache option":       second(cache.New(1, &cache.Options[int, int]{Limit: -1})),
		"cache fetch":        second(entries.GetOrFetch(t.Context(), "a", nil)),
		"clock timer":        second(clock.New(nil, nil)),
		"clock spec":         second(clock.ParseSpec("0 0 30 2 *")),
		"clock function":     second(onTimer.ScheduleFunc(daily, nil, nil)),
		"clock run":          onTimer.RunWithTimeout(t.Context(), 1, nil),
		"idle timeout":       second(idle.New(timer, 0, nil)),
		"idle option":        second(idle.New(timer, 1, &idle.Options{MaxAge: -1})),
		"leak option, panic": recovered(func() { leak.NewDetector[int]("int", &leak.Options{TargetRecords: -1}) }),
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, err, hwt.ErrInvalid)
			assert.NotErrorIs(t, err, hwt.ErrStopped)
			assert.NotContains(t, err.Error(), hwt.ErrInvalid.Error())
		})
	}
	assert.NotErrorIs(t, hwt.ErrStopped, hwt.ErrInvalid)
}

// nilable is an executor of a pointer type.
type nilable struct{ hwt.Executor }

func second[T any](_ T, err error) error { return err }

// recovered returns the error with which f panics.
func recovered(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestZeroEnginesPanicWithTheRemedy(t *testing.T) {
	task := hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	for engine, e := range map[string]interface {
		hwt.Engine
		hwt.EventTimer
		fmt.Stringer
	}{"hashedwheel": new(hashedwheel.Timer), "hierarchical": new(hierarchical.Timer), "runtimetimer": new(runtimetimer.Timer)} {
		for method, call := range map[string]func(){
			"NewTimeout":  func() { _, _ = e.NewTimeout(task, time.Second) },
			"NewTimeouts": func() { _, _ = e.NewTimeouts([]hwt.TimerTask{task}, time.Second) },
			"AfterFunc":   func() { _, _ = e.AfterFunc(time.Second, func() {}) },
			"InitEvent":   func() { _ = new(hwt.Event).Init(e, task) },
			"Start":       e.Start,
			"Stop":        func() { e.Stop() },
			"Shutdown":    func() { _, _ = e.Shutdown(t.Context()) },
			"TaskContext": func() { e.TaskContext() },
			"Pending":     func() { e.Pending() },
			"All":         func() { e.All() },
			"Stats":       func() { e.Stats() },
			"String":      func() { _ = e.String() },
		} {
			t.Run(engine+"."+method, func(t *testing.T) {
				assert.PanicsWithValue(t, "hwt: zero timer: use New", call)
			})
		}
	}
}
