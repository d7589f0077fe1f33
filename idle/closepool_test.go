package idle_test

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// closer is a Close method.
type closer func() error

func (c closer) Close() error { return c() }

func TestHangingCloseDelaysNoOther(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
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

func TestMoreHangingClosesThanWorkers(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
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

// TestEndedWatchKeepsItsTimeout sets another timeout while the close waits behind
// others that hang. The event must have the timeout for which the watch ended.
func TestEndedWatchKeepsItsTimeout(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var reported events
		hang := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{OnExpire: reported.add})
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
		require.Len(t, reported.list(), 257)
		assert.Equal(t, 10*second, reported.list()[256].Timeout)
		assert.Equal(t, 10*second, w.Timeout())
	})
}

// TestCloseOfAClosedConnectionIsNotReported closes a connection before the reaper
// does.
func TestCloseOfAClosedConnectionIsNotReported(t *testing.T) {
	var failed failures
	r := newReaper(t, newTimer(t, time.Millisecond), 5*time.Millisecond, &idle.Options{ErrorHandler: failed.add, OnExpire: func(e idle.Event) { e.Closer.Close() }})
	client, server := tcpPair(t)
	defer client.Close()
	r.Wrap(server)
	eventually(t, func() bool { return r.Stats().Idle == 1 && r.Stats().Closing == 0 })
	assert.Empty(t, failed.list())
}

// TestQueueThatNeverEmptiesReusesItsRoom queues closes as fast as they are done,
// 256 a second, so that as many always wait.
func TestQueueThatNeverEmptiesReusesItsRoom(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
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

func TestPanicOfACallbackIsReportedBeforeTheClose(t *testing.T) {
	for name, fault := range map[string]func(){
		"panic":  func() { panic("from the callback") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				var failed failures
				r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{ErrorHandler: failed.add, OnExpire: func(idle.Event) { fault() }})
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
				assert.Equal(t, name == "goexit", errors.Is(failed.list()[0], hwt.ErrGoexit))
				assert.EqualValues(t, 500, r.Stats().Panics)
				assert.Zero(t, r.Stats().Closing)
			})
		})
	}
}

// TestCallbacksThatEndAllWorkersDelayNoClose lets all workers wait, so that none
// is left when they end.
func TestCallbacksThatEndAllWorkersDelayNoClose(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		end := make(chan struct{})
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{ErrorHandler: func(error) {}, OnExpire: func(idle.Event) {
			<-end
			runtime.Goexit()
		}})
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

func TestFailedCloseIsReported(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		broken := errors.New("does not close")
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{ErrorHandler: failed.add})
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

func TestErrorHandlerThatHangsIsReplacedByTheLog(t *testing.T) {
	for reason, fail := range map[string]func(){
		"panic: again":              func() { panic("again") },
		"runtime.Goexit was called": runtime.Goexit,
	} {
		enginetest.Bubble(t, func(t *testing.T) {
			var log strings.Builder
			var calls atomic.Int64
			r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{
				ErrorHandler: func(error) { calls.Add(1); fail() },
				Logger:       slog.New(slog.NewTextHandler(&log, nil)),
			})
			r.Watch(closer(func() error { panic("from Close") }))
			r.Watch(closer(func() error { return errors.New("does not close") }))
			time.Sleep(20 * second)
			synctest.Wait()
			assert.EqualValues(t, 1, r.Stats().Panics)
			assert.Contains(t, log.String(), "from Close")
			assert.EqualValues(t, 2, calls.Load(), "one per failure")
			assert.Contains(t, log.String(), "error handler did not return: hwt: "+reason)
		})
	}
}
