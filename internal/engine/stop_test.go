package engine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

func TestStopWaitsForTheTaskThatRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		over := false
		e.after(t, tick, func() {
			time.Sleep(time.Second)
			over = true
		})
		pass(tick)
		begin := time.Now()
		e.Stop()
		assert.True(t, over)
		assert.Equal(t, time.Second, time.Since(begin))
		assert.Empty(t, e.log.Take())
	})
}

func TestStopGivesUpOnABlockedTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		release := make(chan struct{})
		var ran atomic.Int64
		block := func() { ran.Add(1); <-release }
		due := []*Timeout{e.after(t, tick, block), e.after(t, tick, block)} // one runs, the other waits behind it
		waiting := e.after(t, time.Hour, nothing)
		pass(tick)
		fresh := e.after(t, time.Hour, nothing)

		blocked, behind := due[0], due[1]
		if behind.IsExpired() {
			blocked, behind = behind, blocked
		}

		begin := time.Now()
		assert.ElementsMatch(t, []hwt.Timeout{behind, waiting, fresh}, e.Stop())
		assert.Equal(t, 5*time.Second, time.Since(begin))
		assert.Contains(t, e.log.Take(), "gave up waiting")
		assert.True(t, blocked.IsExpired())
		assert.True(t, behind.IsCancelled())
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 1, ran.Load(), "ran after Stop")
		select {
		case <-e.core.worker.done:
		default:
			assert.Fail(t, "the worker did not end with its task")
		}
		e.balanced(t)
	})
}

func TestStopWithoutAWaitLogsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 20 {
			e := newTimer(t, func(c *Config) { c.StopWait = 0 })
			e.after(t, tick, func() { time.Sleep(time.Minute) })
			pass(tick)
			begin := time.Now()
			assert.Empty(t, e.Stop())
			assert.Equal(t, begin, time.Now())
			assert.Empty(t, e.log.Take())
		}
		pass(time.Hour)
	})
}

func TestStopFromTheWorkerDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		waiting := e.after(t, time.Hour, nothing)
		var got []hwt.Timeout
		var ran atomic.Int64
		stop := func() {
			ran.Add(1)
			defer func() {
				begin := time.Now()
				got = e.Stop()
				assert.Equal(t, begin, time.Now())
			}()
			runtime.Goexit() // afterwards, another worker runs
		}
		due := []*Timeout{e.after(t, tick, stop), e.after(t, tick, stop)}
		pass(time.Hour)
		behind := due[0]
		if behind.IsExpired() {
			behind = due[1]
		}
		assert.ElementsMatch(t, []hwt.Timeout{waiting, behind}, got)
		assert.EqualValues(t, 1, ran.Load(), "ran after Stop")
		<-e.core.worker.done
	})
}

func TestEveryStopWaitsForTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(time.Second) })
		pass(tick)
		begin := time.Now()
		var stops sync.WaitGroup
		for range 5 {
			stops.Go(func() {
				e.Stop()
				assert.Equal(t, time.Second, time.Since(begin))
			})
		}
		stops.Wait()
	})
}

func TestUnstartedTimerStopsWithNothingLeft(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		begin := time.Now()
		assert.Empty(t, e.Stop())
		assert.Equal(t, begin, time.Now())
		<-e.core.worker.done
		assert.Zero(t, e.Stats().Wakeups)
	})
}

// The real clock, because it waits for the garbage collector.
func TestUnprocessedTimeoutKeepsNoOtherReachable(t *testing.T) {
	e := newTimer(t)
	e.core.worker.sleeper.Store(newSleeper(&e.core.worker.errands, e.core.worker.runRelief))
	e.core.intake.phase.Store(ticking)
	b := new(store.Buckets)
	b.Grow(1)
	e.core.schedule.wheel = bucketWheel{b}
	var tasks []weak.Pointer[noticeTask]
	func() {
		for range 5 * store.MaxVisit {
			task := new(noticeTask)
			tasks = append(tasks, weak.Make(task))
			e.add(t, task, time.Hour)
		}
	}()
	e.finish(t)
	one := e.Stop()[7].(*Timeout)
	require.Eventually(t, func() bool {
		runtime.GC()
		left := 0
		for _, task := range tasks {
			if task.Value() != nil {
				left++
			}
		}
		return left == 1
	}, 10*time.Second, time.Millisecond)
	runtime.KeepAlive(one)
}

// bucketWheel is one bucket.
type bucketWheel struct{ b *store.Buckets }

func (w bucketWheel) MoveTo(int64)                                         {}
func (w bucketWheel) Add(n *store.Node, _ int64)                           { w.b.Add(0, n, 0) }
func (w bucketWheel) Remove(n *store.Node)                                 { w.b.Remove(n) }
func (w bucketWheel) Bucket(int64) (uint32, bool)                          { return 0, true }
func (w bucketWheel) Expire(due []*store.Node) []*store.Node               { return due }
func (w bucketWheel) Next() int64                                          { return 1 << 62 }
func (w bucketWheel) Peek(int64, int, []*store.Node) ([]*store.Node, bool) { return nil, false }
func (w bucketWheel) Held() *store.Buckets                                 { return w.b }
func (w bucketWheel) Rings(rings []Ring) []Ring                            { return rings }

func TestStopLeavesTheIntakeEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		changed := []*Timeout{e.after(t, time.Hour, nothing), e.after(t, time.Hour, nothing)}
		e.finish(t)
		e.core.intake.phase.Store(ticking)
		require.True(t, changed[0].Cancel())
		require.True(t, changed[1].Reset(time.Minute))
		e.after(t, time.Hour, nothing)
		require.EqualValues(t, 3, e.Stats().Intake)
		e.Stop()
		assert.Zero(t, e.Stats().Intake)
	})
}

func TestChangesRacingWithStopLeaveNoIntake(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		reset, cancelled := e.after(t, time.Hour, nothing), e.after(t, time.Hour, nothing)
		e.finish(t)
		e.shut() // as after a Stop that closed the intake
		require.True(t, reset.Reset(time.Minute))
		require.True(t, cancelled.Cancel())
		assert.EqualValues(t, 1, e.core.intake.of(cancelled).removed.Load(), "not taken back, since Stats shows it")
		assert.Zero(t, e.Stats().Intake)
		assert.EqualValues(t, 1, e.Stats().Cancelled)
		e.core.takeAll(nil)
		close(e.core.worker.takenOver)
	})
}

// The goroutine of a runtime timer waits for a processor, here in its function.
func TestStopWaitsForErrands(t *testing.T) {
	for name, stop := range map[string]func(*timer){
		"Stop":     func(e *timer) { e.Stop() },
		"Shutdown": func(e *timer) { _, _ = e.Shutdown(context.Background()) },
	} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t)
			e.after(t, time.Hour, nothing)
			pass(tick)
			ended := false
			e.core.worker.errands.make(func() { time.Sleep(10 * tick); ended = true }).Reset(tick)
			pass(2 * tick)
			stop(e)
			assert.True(t, ended, name)
		})
	}
}

// The caller has moved phase to ticking when Stop comes, and sets the relief after it.
func TestReliefSetAfterStopDoesNotStay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		pass(tick)
		e.Stop()
		e.core.worker.relieveWoken()
		assert.Zero(t, e.core.worker.errands.out.Load())
	})
}

// A relief or a watchdog that is a plain runtime timer could outlast Stop.
func TestRuntimeTimersWithGoroutinesAreErrands(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		found += strings.Count(string(source), "time.AfterFunc")
	}
	assert.Equal(t, 1, found, "in errands.make")
}
