package idle_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/timertest"
)

// closer is a Close of the test's choice.
type closer func() error

func (c closer) Close() error { return c() }

func TestACloseThatHangsHoldsUpNobody(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second)
		things := make([]*thing, 1000)
		for i := range things {
			things[i] = newThing()
			r.Watch(things[i])
			if i%10 == 0 {
				r.Watch(closer(func() error {
					<-release
					return nil
				}))
			}
		}
		time.Sleep(11 * second)
		for _, c := range things {
			require.True(t, c.isClosed())
			require.LessOrEqual(t, c.closes()[0], 11*second)
		}
		assert.EqualValues(t, 100, r.Stats().Closing)
		close(release)
		synctest.Wait()
		assert.Zero(t, r.Stats().Closing)
	})
}

func TestMoreHangingClosesThanGoroutines(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second)
		for range 300 {
			r.Watch(closer(func() error {
				<-release
				return nil
			}))
		}
		late := newThing()
		w := r.Watch(late)
		time.Sleep(9 * second)
		w.Touch()
		time.Sleep(time.Minute)
		assert.False(t, late.isClosed(), "256 hang")
		assert.EqualValues(t, 301, r.Stats().Closing)
		close(release)
		synctest.Wait()
		assert.True(t, late.isClosed())
	})
}

// TestAnEndedWatchKeepsTheTimeoutThatEndedIt changes it while its close waits for
// those that hang: the event must tell of the timeout that was kept.
func TestAnEndedWatchKeepsTheTimeoutThatEndedIt(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		var told events
		hang := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second, idle.WithOnIdle(told.add))
		for range 256 {
			r.Watch(closer(func() error {
				<-hang
				return nil
			}))
		}
		time.Sleep(5 * second)
		w := r.Watch(newThing())
		time.Sleep(15 * second)
		require.ErrorIs(t, w.Err(), idle.ErrIdle)
		w.SetTimeout(time.Hour)
		close(hang)
		synctest.Wait()
		require.Len(t, told.list(), 257)
		assert.Equal(t, 10*second, told.list()[256].Timeout)
		assert.Equal(t, 10*second, w.Timeout())
	})
}

// TestAConnectionThatTheCallbackClosedIsNoFailure also holds for whoever closes
// it between its end and the reaper's close.
func TestAConnectionThatTheCallbackClosedIsNoFailure(t *testing.T) {
	var failed failures
	r := newReaper(t, newTimer(t, time.Millisecond), 5*time.Millisecond, idle.WithErrorHandler(failed.add),
		idle.WithOnIdle(func(e idle.Event) { e.What.Close() }))
	client, server := tcpPair(t)
	defer client.Close()
	r.Wrap(server)
	eventually(t, func() bool { return r.Stats().Idle == 1 && r.Stats().Closing == 0 })
	assert.Empty(t, failed.list())
}

// TestAQueueThatNeverEmptiesDropsWhatIsDone has closes come as fast as they go,
// 256 a second, with as many always waiting.
func TestAQueueThatNeverEmptiesDropsWhatIsDone(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newRuntimeTimer(t), second)
		longest := 0
		for i := range 100 {
			n := 256
			if i == 0 {
				n *= 3
			}
			for range n {
				r.Watch(closer(func() error {
					time.Sleep(second)
					return nil
				}))
			}
			time.Sleep(second)
			synctest.Wait()
			longest = max(longest, idle.Backlog(r))
		}
		assert.Less(t, longest, 2000, "of 25,600")
		time.Sleep(time.Minute)
		assert.Zero(t, r.Stats().Closing)
	})
}

func TestACallbackThatPanicsIsIsolated(t *testing.T) {
	for name, misbehave := range map[string]func(){
		"panic":  func() { panic("from the callback") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			timertest.Bubble(t, func(t *testing.T) {
				var failed failures
				r := newReaper(t, newTimer(t, second), 10*second, idle.WithErrorHandler(failed.add),
					idle.WithOnIdle(func(idle.Event) { misbehave() }))
				things := make([]*thing, 500)
				for i := range things {
					things[i] = newThing()
					r.Watch(things[i])
				}
				time.Sleep(20 * second)
				for _, c := range things {
					require.Len(t, c.closes(), 1)
				}
				assert.Len(t, failed.list(), 500)
				var p *hwt.PanicError
				assert.Equal(t, name == "panic", errors.As(failed.list()[0], &p))
				assert.EqualValues(t, 500, r.Stats().Panics)
				assert.Zero(t, r.Stats().Closing)
			})
		})
	}
}

// TestCallbacksThatEndAllGoroutinesHoldUpNobody has every goroutine that there may
// be wait, so that none is left to go on when they end.
func TestCallbacksThatEndAllGoroutinesHoldUpNobody(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		end := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second, idle.WithErrorHandler(func(error) {}),
			idle.WithOnIdle(func(idle.Event) {
				<-end
				runtime.Goexit()
			}))
		things := make([]*thing, 500)
		for i := range things {
			things[i] = newThing()
			r.Watch(things[i])
		}
		time.Sleep(20 * second)
		close(end)
		synctest.Wait()
		for _, c := range things {
			require.True(t, c.isClosed())
		}
	})
}

func TestACloseThatPanicsOrFailsIsReported(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		var failed failures
		broken := errors.New("does not close")
		r := newReaper(t, newTimer(t, second), 10*second, idle.WithErrorHandler(failed.add))
		r.Watch(closer(func() error { return broken }))
		time.Sleep(20 * second)
		r.Watch(closer(func() error { panic(broken) }))
		time.Sleep(20 * second)
		require.Len(t, failed.list(), 2)
		assert.ErrorIs(t, failed.list()[0], broken)
		assert.ErrorIs(t, failed.list()[1], broken)
		assert.EqualValues(t, 1, r.Stats().Panics)
	})
}

func TestAnErrorHandlerMayPanic(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second, idle.WithErrorHandler(func(error) { panic("again") }))
		r.Watch(closer(func() error { panic("from Close") }))
		time.Sleep(20 * second)
		assert.EqualValues(t, 1, r.Stats().Panics)
	})
}
