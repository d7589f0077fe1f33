package idle_test

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestStoppedTimerClosesNothing(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		timer := newTimer(t, second)
		r := newReaper(t, timer, 10*second, &idle.Options{ErrorHandler: failed.add})
		before := newThing()
		for range 10 {
			r.Watch(before)
		}
		timer.Stop()
		near, far := pipe(t)
		wrapped := r.Wrap(near)
		for range 10 { // one of them in a shard that has no group yet, perhaps
			r.Watch(before)
		}
		require.NotEmpty(t, failed.list())
		for _, err := range failed.list() {
			assert.ErrorIs(t, err, hwt.ErrStopped)
		}
		time.Sleep(time.Minute)
		assert.False(t, before.isClosed())
		assert.NoError(t, idle.WatchOf(wrapped).Err())
		go far.Write([]byte("x"))
		n, err := wrapped.Read(make([]byte, 1))
		assert.Equal(t, 1, n)
		assert.NoError(t, err)
		assert.NoError(t, wrapped.Close())
		conserved(t, r)
	})
}

func TestFallbackTimersReplaceATimerAtItsLimit(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		timer := newTimer(t, second, hashedwheel.Options{MaxPendingTimeouts: 1})
		_, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return nil }), 40*second)
		require.NoError(t, err)
		r := newReaper(t, timer, 10*second, &idle.Options{ErrorHandler: failed.add})
		silent, active, short, stopped := newThing(), newThing(), newThing(), newThing()
		r.Watch(silent)
		w := r.Watch(active)
		r.Watch(short).SetTimeout(5 * second)
		r.Watch(stopped).Stop()
		for range 35 {
			time.Sleep(second)
			w.Touch()
		}
		assert.Equal(t, []time.Duration{10 * second}, silent.closes())
		assert.Equal(t, []time.Duration{5 * second}, short.closes())
		assert.False(t, active.isClosed())
		require.NotEmpty(t, failed.list())
		assert.ErrorIs(t, failed.list()[0], hwt.ErrTooManyPending)
		assert.Positive(t, r.Stats().FallbackTimers)
		time.Sleep(12 * second) // the timer has room again
		require.Len(t, active.closes(), 1)
		assert.GreaterOrEqual(t, active.closes()[0], 45*second)
		assert.False(t, stopped.isClosed())
		conserved(t, r)
	})
}

// full is an executor that rejects every task.
type full struct{}

var errFull = errors.New("full")

func (full) Execute(func()) error { return errFull }

func TestFullExecutorSilencesNoGroup(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var refusals failures
		timer := newTimer(t, second, hashedwheel.Options{
			Executor:     full{},
			ErrorHandler: func(_ hwt.Timeout, err error) { refusals.add(err) },
		})
		r := newReaper(t, timer, 10*second)
		silent, active := make([]*thing, 500), newThing() // every shard has some
		for i := range silent {
			silent[i] = newThing()
			r.Watch(silent[i])
		}
		w := r.Watch(active)
		time.Sleep(5 * second)
		w.Touch()
		time.Sleep(6 * second)
		synctest.Wait()
		for _, c := range append(silent, active) {
			require.Equal(t, c != active, c.isClosed())
		}
		time.Sleep(5 * second)
		synctest.Wait()
		assert.Len(t, active.closes(), 1, "the scan has set another alarm")
		require.NotEmpty(t, refusals.list())
		for _, err := range refusals.list() {
			assert.ErrorIs(t, err, errFull)
		}
	})
}

// TestNewWatchRevivesAGroupWhoseScanIsLost loses the task of a group, which the executor
// accepts and never runs.
func TestNewWatchRevivesAGroupWhoseScanIsLost(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single shard
	enginetest.Bubble(t, func(t *testing.T) {
		executor := &holding{}
		r := newReaper(t, newTimer(t, second, hashedwheel.Options{Executor: executor}), 10*second)
		lost := make([]*thing, 10)
		for i := range lost {
			lost[i] = newThing()
			r.Watch(lost[i])
		}
		time.Sleep(20 * second)
		r.Watch(newThing())
		time.Sleep(2 * second)
		synctest.Wait()
		require.Len(t, executor.tasks, 2)
		executor.tasks[1]()
		synctest.Wait()
		for _, c := range lost {
			assert.True(t, c.isClosed())
		}
	})
}

// holding is an executor that keeps the tasks.
type holding struct{ tasks []func() }

func (h *holding) Execute(task func()) error {
	h.tasks = append(h.tasks, task)
	return nil
}

// TestLateScanLeavesOneAlarm delays the scan of a group until the group has another
// alarm.
func TestLateScanLeavesOneAlarm(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single shard
	enginetest.Bubble(t, func(t *testing.T) {
		executor := &holding{}
		timer := newTimer(t, second, hashedwheel.Options{Executor: executor})
		r := newReaper(t, timer, 10*second)
		w := r.Watch(newThing())
		time.Sleep(11 * second)
		synctest.Wait()
		require.Len(t, executor.tasks, 1)
		w.Stop()
		w = r.Watch(newThing())
		executor.tasks[0]()
		assert.EqualValues(t, 1, timer.Pending())
		w.Stop()
		assert.Zero(t, timer.Pending())
	})
}

// foreign is a timer that never fires. It notes the delays it is asked for, and its
// Reset always comes too late.
type foreign struct {
	delays []time.Duration
	err    error // of NewTimeout
}

func (f *foreign) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.delays = append(f.delays, delay.Round(second))
	return &foreignTimeout{timer: f, task: task}, nil
}

func (f *foreign) Stop() []hwt.Timeout { return nil }

type foreignTimeout struct {
	timer *foreign
	task  hwt.TimerTask
}

func (t *foreignTimeout) Timer() hwt.Timer         { return t.timer }
func (t *foreignTimeout) Task() hwt.TimerTask      { return t.task }
func (t *foreignTimeout) Deadline() time.Time      { return time.Time{} }
func (t *foreignTimeout) IsExpired() bool          { return false }
func (t *foreignTimeout) IsCancelled() bool        { return false }
func (t *foreignTimeout) Cancel() bool             { return true }
func (t *foreignTimeout) Reset(time.Duration) bool { return false }

func TestFailedResetIsReplacedByANewTimeout(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := &foreign{}
		r := newReaper(t, timer, 10*second)
		r.Watch(newThing()).SetTimeout(3 * second)
		assert.Equal(t, []time.Duration{10 * second, 3 * second}, timer.delays)
	})
}

// broken is a timer whose NewTimeout or Reset panics.
type broken struct {
	foreign
	reset bool
}

func (b *broken) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if !b.reset {
		panic("broken")
	}
	t, err := b.foreign.NewTimeout(task, delay)
	return brokenTimeout{t}, err
}

type brokenTimeout struct{ hwt.Timeout }

func (brokenTimeout) Reset(time.Duration) bool { panic("broken") }

func TestNewTimeoutThatPanicsIsReported(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single shard
	var failed failures
	r := newReaper(t, &broken{}, 10*second, &idle.Options{ErrorHandler: failed.add})
	for range 2 {
		r.Watch(newThing())
	}
	require.Len(t, failed.list(), 2)
	for _, err := range failed.list() {
		var cause *hwt.PanicError
		require.ErrorAs(t, err, &cause)
		assert.Equal(t, "broken", cause.Value)
	}
	assert.EqualValues(t, 2, conserved(t, r).Dropped)
}

func TestResetThatPanicsLeavesNoLock(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single shard
	timeout := 10 * second
	r := newReaper(t, &broken{reset: true}, second, &idle.Options{
		TimeoutOf: func(io.Closer) time.Duration { return timeout },
	})
	w := r.Watch(newThing())
	for range 62 {
		r.Watch(newThing())
	}
	assert.PanicsWithValue(t, "broken", func() { w.SetTimeout(second) })
	timeout = second
	assert.PanicsWithValue(t, "broken", func() { r.Watch(newThing()) }, "the last of a group")
	timeout = 10 * second
	r.Watch(newThing())
	assert.Equal(t, 2, idle.Groups(r))
	assert.EqualValues(t, 65, conserved(t, r).Watched)
}

func TestForeignErrorOfTheTimerIsReported(t *testing.T) {
	var failed failures
	broken := errors.New("out of order")
	r := newReaper(t, &foreign{err: broken}, 10*second, &idle.Options{ErrorHandler: failed.add})
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	require.Len(t, failed.list(), 1)
	assert.ErrorIs(t, failed.list()[0], broken)
	_, err := c.Write([]byte("x"))
	assert.NoError(t, err, "the connection works")
	assert.NoError(t, c.Close())
	assert.EqualValues(t, 1, conserved(t, r).Dropped)
}

// TestReaperFromOutsideTheBubbleEndsNoWatch uses it where the time is years earlier.
func TestReaperFromOutsideTheBubbleEndsNoWatch(t *testing.T) {
	var failed failures
	r := newReaper(t, newTimer(t, second), time.Minute, &idle.Options{ErrorHandler: failed.add})
	enginetest.Bubble(t, func(t *testing.T) {
		for range 20 {
			near, far := pipe(t)
			far.Close()
			_, err := r.Wrap(near).Write([]byte("x"))
			assert.Equal(t, io.ErrClosedPipe, err)
			time.Sleep(time.Nanosecond)
		}
	})
	require.Len(t, failed.list(), 20)
	assert.ErrorContains(t, failed.list()[0], "timer made outside this synctest bubble")
}
