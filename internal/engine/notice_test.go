package engine

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestCancelBeforeALatePushIsNotified(t *testing.T) {
	for name, stop := range map[string]func(e *timer){
		"before Stop takes over": func(e *timer) { e.shut() },
		"after Stop took over": func(e *timer) {
			e.shut()
			e.core.takeAll(nil)
			close(e.core.worker.takenOver)
		},
	} {
		for _, early := range []bool{true, false} { // Cancel before or after Stop
			inBubble(t, func(t *testing.T) {
				e := newIdleTimer(t)
				c := e.core
				task := new(noticeTask)
				timeout := e.add(t, task, time.Hour)
				time.Sleep(tick)
				require.Equal(t, goOn, e.step())
				was, _ := timeout.state.rearm(1) // as in Reset, which pushes later
				require.Zero(t, was&queued)
				wins := early && timeout.Cancel()
				stop(e)
				wins = wins || timeout.Cancel()
				timeout.home.pushAdvanced(timeout, was, 1)
				if c.schedule.wheel != nil {
					c.takeAll(nil)
					close(c.worker.takenOver)
				}
				for c.worker.takeLateNotices() {
					c.worker.fire()
				}
				close(c.worker.done)
				want := [2]int{0, 0}
				if wins {
					want = [2]int{0, 1}
				}
				assert.Equal(t, want, task.counts(), "%s, early %v", name, early)
				s := e.balanced(t)
				assert.EqualValues(t, 1, s.Cancelled+s.Unprocessed)
			})
		}
	}
}

func TestStopGivesNoNotices(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		lock := make(chan struct{}, 1) // not a mutex, so that fake time advances while a goroutine waits
		tasks := make([]*noticeTask, 10)
		for i := range tasks {
			tasks[i] = &noticeTask{then: func() {
				lock <- struct{}{}
				defer func() { <-lock }()
				if i%3 == 0 {
					runtime.Goexit()
				}
			}}
			e.add(t, tasks[i], time.Hour).Cancel()
		}
		e.after(t, time.Hour, nothing)
		lock <- struct{}{}
		assert.Len(t, e.Stop(), 1)
		<-lock
		synctest.Wait()
		for _, task := range tasks {
			assert.Equal(t, [2]int{0, 1}, task.counts())
		}
	})
}

func TestCancelDuringStopLeavesTheNoticeToTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, gone := range []bool{false, true} {
			e := newIdleTimer(t)
			c := e.core
			block := make(chan struct{})
			task := &noticeTask{then: func() { <-block }}
			timeout := e.add(t, task, time.Hour)
			time.Sleep(tick)
			require.Equal(t, goOn, e.step())
			e.shut()
			if gone {
				c.takeAll(nil)
				close(c.worker.takenOver)
				require.False(t, c.worker.takeLateNotices())
				timeout.state = newState(1)
				timeout.state.cancel() // before Stop, with the notice afterwards
				timeout.home.notifyLate(timeout)
			} else {
				require.True(t, timeout.Cancel(), "does not block")
				c.takeAll(nil)
				close(c.worker.takenOver)
				go func() {
					for c.worker.takeLateNotices() {
						c.worker.fire()
					}
				}()
			}
			synctest.Wait()
			assert.Equal(t, [2]int{0, 1}, task.counts(), "gone %v", gone)
			close(block)
			synctest.Wait()
			close(c.worker.done)
		}
	})
}

// The worker has ended, so the notice runs on its own goroutine. Shutdown must not wait for
// that.
func TestShutdownInALateNoticeDoesNotWaitForIt(t *testing.T) {
	for name, execute := range map[string]hwt.Executor{"": nil, "on an executor": inline{}} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t, func(c *Config) { c.Runner.Executor = execute })
			c, returned := e.core, false
			task := &noticeTask{then: func() {
				_, err := e.Shutdown(context.Background())
				returned = err == nil
			}}
			timeout := e.add(t, task, time.Hour)
			time.Sleep(tick)
			require.Equal(t, goOn, e.step())
			e.shut()
			timeout.state.cancel() // Cancel has won, and has not read the intake yet
			c.takeAll(nil)
			close(c.worker.takenOver)
			require.False(t, c.worker.takeLateNotices())
			close(c.worker.done)
			timeout.home.notifyLate(timeout)
			synctest.Wait()
			assert.True(t, returned, name)
		})
	}
}

// The task of one worker waits for the late notice of another worker. The notice must not
// wait for that worker.
func TestShutdownInALateNoticeDoesNotWaitForWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 2, func(c *Config) { c.StopWait = 0 })
		var returned atomic.Int64
		shutdown := func() {
			if _, err := h.Shutdown(context.Background()); err == nil {
				returned.Add(1)
			}
		}
		stopped := make(chan struct{})
		afterOn(t, h, 1, 0, func() {
			<-stopped
			shutdown()
		})
		pass(tick)
		h.Stop()
		<-h.workers[0].core.worker.done
		timeout := &Timeout{state: newState(1), home: &h.workers[0], task: &noticeTask{then: shutdown}}
		timeout.state.cancel()
		timeout.home.notifyLate(timeout)
		synctest.Wait()
		close(stopped)
		synctest.Wait()
		assert.EqualValues(t, 2, returned.Load())
	})
}

// The real clock, because preemption and parallelism make these races.
func TestCancelResetAndStopNotifyEachTaskOnce(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		e := newTimer(t, func(c *Config) { c.Tick = 50 * time.Microsecond })
		const n = 64
		tasks := make([]*noticeTask, n)
		timeouts := make([]*Timeout, n)
		for i := range n {
			tasks[i] = new(noticeTask)
			timeouts[i] = e.add(t, tasks[i], rand.N(200*time.Microsecond)+100*time.Microsecond)
		}
		var won [n]bool
		var unprocessed []hwt.Timeout
		var all sync.WaitGroup
		time.Sleep(rand.N(300 * time.Microsecond))
		all.Go(func() {
			for i := range n {
				won[i] = timeouts[i].Cancel()
			}
		})
		all.Go(func() {
			for i := range n {
				timeouts[i].Reset(rand.N(400 * time.Microsecond))
				timeouts[n-1-i].Reset(rand.N(100 * time.Microsecond))
			}
		})
		all.Go(func() { unprocessed = e.Stop() })
		all.Wait()
		returned := map[hwt.Timeout]int{}
		for _, timeout := range unprocessed {
			returned[timeout]++
		}
		require.Eventually(t, func() bool {
			for i := range n {
				ran, noticed := tasks[i].counts()[0], tasks[i].counts()[1]
				if won[i] && noticed == 0 || !won[i] && ran+returned[timeouts[i]] == 0 {
					return false
				}
			}
			return true
		}, 20*time.Second, 100*time.Microsecond, "a task neither ran nor got a notice")
		for i, task := range tasks {
			ran, noticed := task.counts()[0], task.counts()[1]
			cancelled := 0
			if won[i] {
				cancelled = 1
			}
			require.Equal(t, cancelled, noticed)
			require.Equal(t, 1, ran+cancelled+returned[timeouts[i]], "ran %d, cancelled %d, returned %d", ran, cancelled, returned[timeouts[i]])
		}
		s := e.balanced(t)
		require.Zero(t, s.Pending)
	}
}
