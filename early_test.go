package hwt_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// onWheels runs a test in a bubble, on both wheels at several ticks.
func onWheels(t *testing.T, test func(t *testing.T, timer hwt.Engine, tick time.Duration)) {
	for _, tick := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 100 * time.Millisecond, time.Hour} {
		for name, make := range map[string]func() (hwt.Engine, error){
			"hashedwheel":  func() (hwt.Engine, error) { return hashedwheel.New(&hashedwheel.Options{TickDuration: tick}) },
			"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(&hierarchical.Options{TickDuration: tick}) },
			"workers": func() (hwt.Engine, error) {
				return hashedwheel.New(&hashedwheel.Options{TickDuration: tick, Workers: 3})
			},
		} {
			t.Run(name+"/"+tick.String(), func(t *testing.T) {
				enginetest.Bubble(t, func(t *testing.T) {
					timer, err := make()
					require.NoError(t, err)
					defer timer.Stop()
					test(t, timer, tick)
				})
			})
		}
	}
}

// The delays reach over many rotations, and to upper levels.
func TestLoneTimeoutRunsAtItsDeadline(t *testing.T) {
	onWheels(t, func(t *testing.T, timer hwt.Engine, tick time.Duration) {
		for i := range 200 {
			delay := 1 + rand.N(tick<<(i%14))
			var late time.Duration = -1
			due := time.Now().Add(delay)
			_, err := timer.AfterFunc(delay, func() { late = time.Since(due) })
			require.NoError(t, err)
			time.Sleep(delay + tick)
			synctest.Wait()
			require.Zero(t, late, delay)
		}
		assert.LessOrEqual(t, timer.Stats().MaxLag, time.Duration(0))
	})
}

// Timeouts are moved and cancelled while others are due in the same tick.
func TestFewTimeoutsRunAtTheirDeadlines(t *testing.T) {
	onWheels(t, func(t *testing.T, timer hwt.Engine, tick time.Duration) {
		begin := time.Now()
		var mu sync.Mutex // tasks of several workers
		var ran []time.Duration
		note := func() {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, time.Since(begin))
		}
		after := func(delay time.Duration) hwt.Timeout {
			timeout, err := timer.AfterFunc(delay, note)
			require.NoError(t, err)
			return timeout
		}
		last, first, gone, moved := after(tick*9/10), after(tick/10), after(tick/5), after(tick/2)
		assert.True(t, gone.Cancel())
		assert.True(t, moved.Reset(tick*4/5))
		assert.True(t, last.Reset(tick*7/10))
		time.Sleep(tick / 3)
		after(1)
		assert.True(t, first.IsExpired())
		time.Sleep(tick)
		synctest.Wait()
		assert.Equal(t, []time.Duration{tick / 10, tick/3 + 1, tick * 7 / 10, tick * 4 / 5}, ran)
	})
}

// A tick that holds many timeouts works them at its end.
func TestManyTimeoutsShareTheEndOfTheirTick(t *testing.T) {
	onWheels(t, func(t *testing.T, timer hwt.Engine, tick time.Duration) {
		begin, ran := time.Now(), map[time.Duration]int{}
		var mu sync.Mutex // tasks of several workers
		for i := range 1000 {
			_, err := timer.AfterFunc(3*tick+time.Duration(i+1)*tick/1000, func() {
				mu.Lock()
				defer mu.Unlock()
				ran[time.Since(begin)]++
			})
			require.NoError(t, err)
		}
		time.Sleep(4 * tick)
		synctest.Wait()
		assert.LessOrEqual(t, timer.Stats().Wakeups, int64(10)) // before the workers retire
		assert.LessOrEqual(t, len(ran), 3)
		for at := range ran {
			assert.GreaterOrEqual(t, at, 4*tick-tick/1000)
			assert.LessOrEqual(t, at, 4*tick)
		}
	})
}

// A worker that is awake in a tick takes the timeouts that are due already, although the tick holds too
// many to wake up for.
func TestAwakeWorkerTakesDueTimeoutsEarly(t *testing.T) {
	const tick = time.Millisecond
	for name, make := range map[string]func() (hwt.Engine, error){
		"hashedwheel":  func() (hwt.Engine, error) { return hashedwheel.New(&hashedwheel.Options{TickDuration: tick}) },
		"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(&hierarchical.Options{TickDuration: tick}) },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer, err := make()
				require.NoError(t, err)
				defer timer.Stop()
				begin, ran := time.Now(), map[time.Duration]int{}
				_, err = timer.AfterFunc(3*tick-1, func() { time.Sleep(tick/2 + 1) })
				require.NoError(t, err)
				for i := range 100 {
					_, err = timer.AfterFunc(3*tick+time.Duration(i+1)*tick/100, func() { ran[time.Since(begin)]++ })
					require.NoError(t, err)
				}
				time.Sleep(5 * tick)
				synctest.Wait()
				assert.Equal(t, map[time.Duration]int{3*tick + tick/2: 50, 4 * tick: 50}, ran)
			})
		})
	}
}

// A task that schedules itself without a delay runs about once per millisecond and worker,
// and at each tick.
func TestChainWithoutDelayIsBounded(t *testing.T) {
	onWheels(t, func(t *testing.T, timer hwt.Engine, tick time.Duration) {
		runs := 0
		var again func()
		again = func() {
			runs++
			_, err := timer.AfterFunc(0, again)
			assert.ErrorIs(t, err, map[bool]error{true: hwt.ErrStopped}[err != nil])
		}
		again()
		time.Sleep(time.Second)
		synctest.Wait()
		timer.Stop()
		const workers = 3 // at most, with a bound each
		assert.LessOrEqual(t, runs, workers*(100+1000+int(time.Second/tick)+1))
		assert.GreaterOrEqual(t, runs, int(time.Second/max(tick, time.Millisecond)))
	})
}

// A chain uses up the credit for early wake-ups (X2). Afterwards the timer rests until a
// deadline for which there is credit again.
func TestAlarmIsExactOnceThereIsCreditAgain(t *testing.T) {
	onWheels(t, func(t *testing.T, timer hwt.Engine, tick time.Duration) {
		var again func()
		left := 300
		again = func() {
			if left--; left > 0 {
				_, _ = timer.AfterFunc(0, again)
			}
		}
		begun := time.Now()
		_, err := timer.AfterFunc(0, again)
		require.NoError(t, err)
		delay := 1000*tick + tick/2 + time.Second
		var late time.Duration = -1
		_, err = timer.AfterFunc(delay, func() { late = time.Since(begun) - delay })
		require.NoError(t, err)
		time.Sleep(delay + tick)
		synctest.Wait()
		assert.Zero(t, late)
	})
}
