package hwt_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// A copy is recognized by its address, except for one in about 255.
func TestEventPanicsIfItIsACopy(t *testing.T) {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	type object struct{ event hwt.Event }
	original := new(object)
	require.NoError(t, original.event.Init(timer, nothing))
	var copies [100]object
	panics := 0
	for i := range copies {
		func() {
			defer func() {
				if recover() != nil {
					panics++
				}
			}()
			reflect.ValueOf(&copies[i]).Elem().Set(reflect.ValueOf(original).Elem()) // go vet finds an assignment
			copies[i].event.Cancel()
		}()
	}
	assert.Greater(t, panics, 90)
	assert.NoError(t, original.event.Arm(time.Hour))
}

var nothing = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

func TestZeroEventIsNotPending(t *testing.T) {
	var event hwt.Event
	assert.ErrorIs(t, event.Arm(0), hwt.ErrEventNotInitialized)
	assert.ErrorIs(t, event.Arm(0), hwt.ErrInvalid)
	assert.False(t, event.Cancel() || event.Reset(0) || event.IsExpired() || event.IsCancelled())
	assert.True(t, event.Deadline().IsZero())
	assert.Nil(t, event.Timer())
	assert.Nil(t, event.Task())
	assert.Equal(t, "timeout(not initialized)", event.String())
}

// ordinaryTimer is a timer without InitEvent.
type ordinaryTimer struct{ hwt.Timer }

// eventTask records the arguments of Run and Rejected.
type eventTask struct {
	got      hwt.Timeout
	runs     int
	rejected error
}

func (e *eventTask) Run(timeout hwt.Timeout) error {
	e.got, e.runs = timeout, e.runs+1
	return nil
}

func (e *eventTask) Rejected(timeout hwt.Timeout, err error) error {
	e.got, e.rejected = timeout, err
	return nil
}

// executor counts its tasks, and rejects them if full is set.
type executor struct {
	calls int
	full  error
}

func (e *executor) Execute(task func()) error {
	e.calls++
	if e.full == nil {
		task()
	}
	return e.full
}

func TestEventOnAnyTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := runtimetimer.New(nil)
		require.NoError(t, err)
		defer engine.Stop()
		timer := ordinaryTimer{engine}
		task := new(eventTask)
		var event hwt.Event
		assert.ErrorIs(t, event.Init(timer, nil), hwt.ErrNilTask)
		assert.ErrorIs(t, event.Init(timer, hwt.ContextTaskFunc(nil)), hwt.ErrNilTask)
		assert.ErrorIs(t, event.Init((*runtimetimer.Timer)(nil), task), hwt.ErrInvalid)
		require.NoError(t, event.Init(timer, task))
		assert.ErrorIs(t, event.Init(timer, task), hwt.ErrEventInitialized)
		assert.Equal(t, hwt.Timer(timer), event.Timer())
		assert.Equal(t, "timeout(unarmed)", event.String())
		assert.False(t, event.Cancel() || event.Reset(0) || event.IsExpired() || event.IsCancelled())
		assert.True(t, event.Deadline().IsZero())

		require.NoError(t, event.Arm(time.Hour))
		require.NoError(t, event.Arm(time.Minute))
		assert.Equal(t, time.Now().Add(time.Minute), event.Deadline())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, task.runs)
		assert.True(t, task.got == &event && event.IsExpired())
		require.NoError(t, event.Arm(time.Hour))
		assert.True(t, event.Cancel() && event.IsCancelled())
		engine.Stop()
		assert.ErrorIs(t, event.Arm(0), hwt.ErrStopped)
	})
}

func TestEventOnAnyTimerUsesItsTasksExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := runtimetimer.New(nil)
		require.NoError(t, err)
		defer engine.Stop()
		task, pool := new(eventTask), new(executor)
		var event hwt.Event
		require.NoError(t, event.Init(ordinaryTimer{engine}, hwt.OnExecutor(pool, task)))
		require.NoError(t, event.Arm(0))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, [2]int{1, 1}, [2]int{pool.calls, task.runs})
		pool.full = errors.New("full")
		require.NoError(t, event.Arm(0))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, task.rejected, pool.full)
		assert.Equal(t, 1, task.runs)
	})
}
