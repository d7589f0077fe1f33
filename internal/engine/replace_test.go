package engine

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// hook is an executor that runs each task in Execute, after a function.
type hook func()

func (f hook) Execute(task func()) error {
	f()
	task()
	return nil
}

// executor is a function that is an executor.
type executor func(task func()) error

func (f executor) Execute(task func()) error { return f(task) }

// once returns a function whose first call calls f.
func once(f func()) hook {
	var begun atomic.Bool
	return func() {
		if begun.CompareAndSwap(false, true) {
			f()
		}
	}
}

// onHook returns a timer whose executor calls f before each task, and whose worker does not
// retire.
func onHook(t *testing.T, f hook) *timer {
	e := newTimer(t, func(c *Config) { c.Runner.Executor = f })
	e.core.worker.kept = true
	return e
}

// relieve starts a relief and waits until it ends or sleeps.
func (e *timer) relieve() {
	go e.core.worker.relieve()
	synctest.Wait()
}

// The worker waits for a processor in the middle of a hand-over (W9).
func TestWorkerInAHandOverIsReplaced(t *testing.T) {
	for name, end := range map[string]func(){"return": func() {}, "exit": runtime.Goexit} {
		inBubble(t, func(t *testing.T) {
			e := onHook(t, once(func() { time.Sleep(100 * tick); end() }))
			var ran atomic.Int64
			schedule := func(delay time.Duration) { e.after(t, delay, func() { ran.Add(1) }) }
			for range 6 { // in any order
				schedule(tick)
			}
			notified := new(noticeTask)
			schedule(10 * tick)
			pass(tick + maxOnTime)
			e.relieve()
			assert.Zero(t, ran.Load(), "the worker is not late, %s", name)
			pass(1)
			e.relieve()
			assert.EqualValues(t, 5, ran.Load(), name)
			e.add(t, notified, time.Hour).Cancel()
			pass(20 * tick)
			assert.EqualValues(t, 6, ran.Load(), "at a later tick, %s", name)
			assert.Equal(t, [2]int{0, 1}, notified.counts(), name)
			pass(100 * tick)
			all := int64(6)
			if name == "return" {
				all++ // the task that was stuck
			}
			assert.Equal(t, all, ran.Load(), name)
			assert.EqualValues(t, 1, e.core.worker.workers.Load(), "the relief has ended, %s", name)
			schedule(tick)
			pass(3 * tick)
			assert.Equal(t, all+1, ran.Load(), "the worker goes on, %s", name)
			assert.EqualValues(t, 8, e.balanced(t).Expired, name)
		})
	}
}

// Two reliefs are stuck, too. The first is free before the worker, and the second after it.
func TestReliefInAHandOverIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls, ran atomic.Int64
		e := onHook(t, func() {
			if i := calls.Add(1); i <= 3 {
				time.Sleep([]time.Duration{100 * tick, 20 * tick, 200 * tick}[i-1])
			}
		})
		for range 5 {
			e.after(t, tick, func() { ran.Add(1) })
		}
		pass(2 * tick)
		assert.EqualValues(t, 2, ran.Load())
		assert.EqualValues(t, 3, e.core.worker.workers.Load())
		pass(40 * tick)
		assert.EqualValues(t, 3, ran.Load())
		assert.EqualValues(t, 2, e.core.worker.workers.Load(), "the relief that was replaced has ended")
		pass(200 * tick)
		assert.EqualValues(t, 5, ran.Load())
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
	})
}

// A goroutine that was replaced ends in its hand-over, while the relief is in another.
func TestReplacedWorkerSurvivesAnExit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls, ran atomic.Int64
		e := onHook(t, func() {
			switch calls.Add(1) {
			case 1:
				time.Sleep(2*maxOnTime + maxOnTime/2)
				runtime.Goexit()
			case 2:
				time.Sleep(maxOnTime)
			}
		})
		for range 5 {
			e.after(t, tick, func() { ran.Add(1) })
		}
		pass(tick + 3*maxOnTime - 1)
		assert.EqualValues(t, 2, calls.Load(), "the relief is the worker")
		assert.EqualValues(t, 2, e.core.worker.workers.Load())
		pass(3 * tick)
		assert.EqualValues(t, 4, ran.Load())
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
	})
}

// Each hand-over takes a while, and one of them blocks long after the tick began.
func TestHandOverThatBlocksLaterIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls, ran atomic.Int64
		e := onHook(t, func() {
			if time.Sleep(maxOnTime); calls.Add(1) == 10 {
				<-release
			}
		})
		for range 20 {
			e.after(t, tick, func() { ran.Add(1) })
		}
		pass(5 * tick)
		assert.EqualValues(t, 19, ran.Load())
		close(release)
		pass(tick)
		assert.EqualValues(t, 20, ran.Load())
	})
}

// A token wakes the worker long before its alarm, and its standby relief is set for the alarm.
func TestNudgedWorkerInAHandOverIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := onHook(t, once(func() { time.Sleep(time.Second) }))
		tasks := []*noticeTask{{}, {}}
		for _, task := range tasks {
			e.add(t, task, time.Hour)
		}
		pass(10 * tick)
		for timeout := range e.wheel.added { // Cancel would set the relief
			timeout.state.cancel()
			s := e.core.intake.of(timeout)
			s.removed.Add(1)
			require.True(t, s.changed.Push(timeout))
		}
		e.core.nudge()
		pass(10 * tick)
		assert.Equal(t, 1, tasks[0].counts()[1]+tasks[1].counts()[1])
	})
}

// Reliefs come only while tasks are handed over.
func TestIdleWorkerWithAnExecutorHasNoRelief(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := onHook(t, once(func() { time.Sleep(time.Second) }))
		for range 5 {
			e.after(t, tick, nothing)
		}
		pass(time.Minute)
		require.True(t, e.core.worker.sleeping)
		e.relieve() // as a late one
		assert.Empty(t, e.stopReliefs())
	})
}

func TestFewGoroutinesWaitInAnExecutor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int64
		e := onHook(t, func() { calls.Add(1); <-release })
		for range 10 * maxFormer {
			e.after(t, tick, nothing)
		}
		pass(tick + 100*maxOnTime)
		e.relieve() // as a caller that rests
		assert.Empty(t, e.stopReliefs())
		assert.EqualValues(t, maxFormer+1, calls.Load())
		assert.EqualValues(t, maxFormer+1, e.core.worker.workers.Load())
		for i, name := range []string{"the worker, which sleeps then", "a relief, which ends"} {
			release <- struct{}{}
			pass(100 * maxOnTime)
			assert.EqualValues(t, maxFormer+2+i, calls.Load(), "another relief takes the place of %s", name)
			assert.EqualValues(t, maxFormer+2, e.core.worker.workers.Load(), name)
		}
		close(release)
		pass(10 * tick)
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
		assert.Zero(t, e.Pending())
	})
}

// A pool that is full runs the task in Execute.
func TestStopFromAReplacedWorkerDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var e *timer
		took := time.Hour
		e = onHook(t, once(func() {
			time.Sleep(50 * tick)
			began := time.Now()
			e.Stop()
			took = time.Since(began)
		}))
		for range 5 {
			e.after(t, tick, nothing)
		}
		e.after(t, 20*tick, nothing)
		pass(100 * tick)
		assert.Zero(t, took)
		<-e.core.worker.done
		_, known := e.core.timer.former.Load(e.core.worker.workerID.Load())
		assert.False(t, known)
	})
}

// The replaced worker is the only goroutine when Stop comes, and does not return for long.
func TestNoticeDoesNotWaitForAReplacedWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := onHook(t, once(func() { time.Sleep(time.Hour) }))
		e.after(t, tick, nothing)
		notified := new(noticeTask)
		timeout := e.add(t, notified, time.Hour)
		pass(5 * tick)
		assert.Equal(t, [2]int32{1, 1}, [2]int32{e.core.worker.workers.Load(), int32(e.core.worker.replaced)})
		require.True(t, timeout.Cancel())
		e.Stop()
		pass(tick)
		assert.Equal(t, [2]int{0, 1}, notified.counts())
		pass(time.Hour)
		<-e.core.worker.done
	})
}

// Stop waits for the goroutine that a relief has replaced.
func TestStopWaitsForAReplacedWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := onHook(t, once(func() { time.Sleep(50 * tick) }))
		var ran atomic.Int64
		for range 5 {
			e.after(t, tick, func() { ran.Add(1) })
		}
		pass(3 * tick)
		assert.EqualValues(t, 4, ran.Load())
		e.Stop()
		assert.EqualValues(t, 5, ran.Load())
	})
}

// Execute blocks before or after it has run the task, and a relief has run the rest of the tick.
func TestShutdownNamesTheTaskOfAReplacedWorker(t *testing.T) {
	for name, c := range map[string]struct {
		early   bool
		waiting int64
	}{"before": {false, 1}, "after": {true, 0}} {
		inBubble(t, func(t *testing.T) {
			release := make(chan struct{})
			blocks := once(func() { <-release })
			e := newTimer(t, func(cfg *Config) {
				cfg.Runner.Executor = executor(func(task func()) error {
					if c.early {
						task()
					}
					blocks()
					if !c.early {
						task()
					}
					return nil
				})
			})
			for range 5 {
				e.add(t, sleepy{}, tick)
			}
			pass(3 * tick)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := e.Shutdown(ctx)
			assert.Equal(t, &hwt.ShutdownError{
				Waiting: c.waiting, Tasks: []string{"engine.sleepy"}, Err: context.DeadlineExceeded,
			}, err, name)
			assert.ErrorIs(t, e.TaskContext().Err(), context.Canceled, name)
			close(release)
			_, err = e.Shutdown(context.Background())
			assert.NoError(t, err, name)
			assert.EqualValues(t, 5, e.balanced(t).Expired)
		})
	}
}

// The worker hands the last notifications over after Stop.
func TestStoppedWorkerIsNotReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := onHook(t, once(func() { time.Sleep(50 * tick) }))
		tasks := []*noticeTask{{}, {}}
		for _, task := range tasks {
			e.add(t, task, time.Hour).Cancel()
		}
		go e.Stop()
		pass(10 * tick)
		e.relieve()
		for _, task := range tasks {
			assert.Equal(t, [2]int{}, task.counts())
		}
		<-e.core.worker.done
		for _, task := range tasks {
			assert.Equal(t, [2]int{0, 1}, task.counts())
		}
	})
}

// Callers lend a relief the rest of their time slice.
func TestCallersThatRestReplaceTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var e *timer
		e = onHook(t, once(func() {
			e.core.worker.sleeper.Load().stop() // as if no relief got to run
			time.Sleep(time.Second)
		}))
		e.core.timer.rests = true // also in a bubble
		task := new(noticeTask)
		e.add(t, task, 0)
		e.add(t, task, 0)
		pass(500 * time.Millisecond)
		e.pushing(t, 16*paceEvery, 0)
		synctest.Wait()
		assert.Equal(t, [2]int{1, 0}, task.counts())
	})
}

// A relief reads the clock anew: its first tasks are later than the stuck one, and it is not
// stuck itself.
func TestReliefBeginsABatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const before, rest, stuckFor = 8, 12, 3 * tick // batches of 1, 2, 4, and 8 tasks
		var e *timer
		var calls atomic.Int64
		replaceable := func() bool {
			e.core.mu.Lock()
			defer e.core.mu.Unlock()
			return e.core.firing.stuck(e.core.timer.now()) != 0
		}
		e = onHook(t, func() {
			switch i := calls.Add(1); {
			case i == before:
				e.core.worker.sleeper.Load().stop() // as if no relief got to run
				time.Sleep(2 * stuckFor)
			case i > before:
				assert.False(t, replaceable(), "task %d", i)
			}
		})
		for range before + rest {
			e.after(t, tick, nothing)
		}
		pass(tick + stuckFor)
		require.True(t, replaceable())
		e.relieve()
		assert.EqualValues(t, before+rest, calls.Load())
		pass(10 * tick)
		late := e.Stats().Lateness
		assert.GreaterOrEqual(t, late.Sum, rest*stuckFor)
	})
}

// A tick may be shorter than a batch of healthy hand-overs.
func TestShortHandOverIsNotStuckAtAnyTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) {
			c.Tick = time.Microsecond
			c.Runner.Executor = hook(func() { time.Sleep(maxOnTime) })
		})
		e.after(t, time.Microsecond, nothing)
		pass(maxOnTime / 2)
		e.core.mu.Lock()
		defer e.core.mu.Unlock()
		require.True(t, e.core.firing.running)
		assert.Zero(t, e.core.firing.stuck(e.core.timer.now()))
	})
}
