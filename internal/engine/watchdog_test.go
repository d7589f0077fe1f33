package engine

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

const threshold = 10 * tick

func watched(c *Config) { c.SlowTask = threshold }

// sleepy is a task with a named type, for warnings.
type sleepy struct{ d time.Duration }

func (s sleepy) Run(hwt.Timeout) error {
	time.Sleep(s.d)
	return nil
}

// warnings counts the warnings in a log.
func warnings(log string) int { return strings.Count(log, "level=WARN") }

func TestSlowTaskIsDetectedOnceWhileItRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		e.add(t, sleepy{10 * threshold}, tick)
		pass(tick + threshold - 1)
		assert.Zero(t, e.Stats().SlowTasks, "not yet")
		pass(threshold/8 + 2)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
		log := e.log.Take()
		assert.Equal(t, 1, warnings(log))
		assert.Contains(t, log, "engine.sleepy")
		assert.Contains(t, log, fmt.Sprint("threshold=", threshold))
		assert.Contains(t, log, "timer=test")
		pass(20 * threshold)
		assert.EqualValues(t, 1, e.Stats().SlowTasks, "counted once")
		assert.Empty(t, e.log.Take())
	})
}

func TestSlowTaskWarningHasTheWatchdogsLateness(t *testing.T) {
	for late, want := range map[time.Duration]string{0: "starved=0s", 70 * time.Millisecond: "starved=70ms"} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t, watched)
			e.add(t, sleepy{2 * threshold}, tick)
			pass(tick + threshold/2)
			e.core.mu.Lock()
			e.core.firing.watchdog.dueAt -= int64(late)
			e.core.mu.Unlock()
			pass(2 * threshold)
			assert.Contains(t, e.log.Take(), want)
		})
	}
}

func TestFastTasksAreNeverSlowHoweverMany(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		for range 100 {
			e.add(t, sleepy{threshold - 1}, tick)
		}
		pass(102 * threshold)
		assert.Zero(t, e.Pending())
		assert.Zero(t, e.Stats().SlowTasks)
		assert.Empty(t, e.log.Take())
	})
}

// A task that takes 9/8 of the threshold is detected at any place within its tick, even if
// a task before it took part of the time until the first check.
func TestTaskOfNineEighthsIsAlwaysDetected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, before := range []time.Duration{0, 1, threshold / 16, threshold / 2, threshold - 1} {
			for _, after := range []bool{false, true} {
				e := newTimer(t, watched)
				if before > 0 {
					e.add(t, sleepy{before}, tick)
				}
				e.add(t, sleepy{threshold*9/8 + 20}, tick)
				if after {
					e.add(t, sleepy{0}, tick)
				}
				pass(4 * threshold)
				assert.EqualValues(t, 1, e.Stats().SlowTasks, "after a task of %v", before)
				e.Stop()
			}
		}
	})
}

func TestSlowTasksAreLoggedOncePerMinute(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		const each = 2 * threshold
		for i := range 1000 { // 200 seconds in total
			e.add(t, sleepy{each}, tick+time.Duration(i))
		}
		logged := 0
		for range 4 {
			pass(time.Minute - time.Second)
			n := warnings(e.log.Take())
			assert.LessOrEqual(t, n, 1, "in less than a minute")
			logged += n
		}
		assert.EqualValues(t, 1000, e.Stats().SlowTasks)
		assert.InDelta(t, 4, logged, 1)
	})
}

func TestSlowCancelledIsFoundToo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		for range 3 {
			e.add(t, &noticeTask{then: func() { time.Sleep(2 * threshold) }}, time.Hour).Cancel()
		}
		e.add(t, sleepy{2 * threshold}, tick)
		pass(10 * threshold)
		assert.EqualValues(t, 4, e.Stats().SlowTasks)
		assert.Contains(t, e.log.Take(), "engine.noticeTask")
	})
}

func TestNoTaskIsWatchedWithoutAThreshold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.add(t, sleepy{time.Hour}, tick)
		pass(2 * time.Hour)
		assert.Zero(t, e.Stats().SlowTasks)
		assert.Nil(t, e.core.firing.watchdog.errand)
	})
}

// Checks at a constant rate would number a hundred million here, and take minutes even in
// fake time.
func TestStuckTaskIsCheckedLessAndLessOften(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		release := make(chan struct{})
		e.after(t, tick, func() { <-release })
		pass(1000 * time.Hour)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
		assert.Equal(t, 1, warnings(e.log.Take()))
		close(release)
		pass(tick)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
	})
}

// Any number of checks may find that the worker has not started a task.
func TestCheckBeforeTheFirstTaskFindsNoSlowTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t, watched)
		c := e.core
		e.after(t, 0, nothing)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		require.True(t, c.firing.running)
		pass(10 * threshold) // the worker is held here
		assert.Zero(t, e.Stats().SlowTasks)
		c.worker.fire()
		assert.EqualValues(t, 1, e.Stats().Expired)
	})
}

func TestTaskAfterAGoexitIsWatched(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched)
		e.after(t, tick, runtime.Goexit)
		e.add(t, sleepy{2 * threshold}, tick)
		pass(5 * threshold)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
	})
}

// panicky is a log handler that panics.
type panicky struct{ slog.Handler }

func TestPanicOfAWarningIsIgnored(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched, func(c *Config) { c.Runner.Logger = slog.New(panicky{}) })
		e.add(t, sleepy{2 * threshold}, tick)
		ran := false
		e.after(t, 5*threshold, func() { ran = true })
		pass(10 * threshold)
		assert.True(t, ran)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
	})
}

// blocking is a full executor that blocks.
type blocking struct{}

func (blocking) Execute(task func()) error {
	time.Sleep(2 * threshold)
	task()
	return nil
}

func TestExecutorThatBlocksIsNamedInTheWarning(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, watched, func(c *Config) { c.Runner.Executor = blocking{} })
		ran := time.Duration(0)
		began := time.Now()
		e.after(t, tick, nothing)
		e.after(t, 2*tick, func() { ran = time.Since(began) })
		pass(10 * threshold)
		assert.EqualValues(t, 2, e.Stats().SlowTasks)
		assert.Equal(t, tick+4*threshold, ran, "each call delays what is due later")
		log := e.log.Take()
		assert.Contains(t, log, "executor is blocking the timer's worker")
		assert.NotContains(t, log, "give it an executor")
	})
}
