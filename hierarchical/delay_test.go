package hierarchical_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

const tick = 10 * time.Millisecond

var nop = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// pass advances fake time, and runs the due tasks.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble runs f in fake time, with a timer and its start time.
func bubble(t *testing.T, size int, f func(t *testing.T, timer *hierarchical.Timer, start time.Time)) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer, err := hierarchical.New(&hierarchical.Options{TickDuration: tick, TicksPerWheel: size})
		require.NoError(t, err)
		defer timer.Stop()
		f(t, timer, time.Now())
	})
}

// expect schedules a task that must run between the delay and the first tick after it, and
// returns whether it ran.
func expect(t *testing.T, timer *hierarchical.Timer, start time.Time, delay time.Duration, name string) (ran *bool) {
	ran = new(bool)
	deadline := time.Since(start) + delay
	want := (deadline + tick - 1) / tick * tick
	_, err := timer.AfterFunc(delay, func() {
		assert.False(t, *ran, "%s: ran twice", name)
		*ran = true
		assert.GreaterOrEqual(t, time.Since(start), deadline, name)
		assert.LessOrEqual(t, time.Since(start), want, name)
	})
	require.NoError(t, err)
	return ran
}

// TestDelaysAroundEachLevelsEdge schedules on both sides of each level's span,
// from several places within a rotation, and within a tick.
func TestDelaysAroundEachLevelsEdge(t *testing.T) {
	for _, size := range []int{2, 3, 64} {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			bubble(t, size, func(t *testing.T, timer *hierarchical.Timer, start time.Time) {
				var all []*bool
				for _, wait := range []time.Duration{tick / 2, time.Duration(size) * tick, 17*tick + 1, tick - 2} {
					pass(wait)
					span := tick
					for level := 1; level <= 4; level++ {
						span *= time.Duration(size)
						for _, ticks := range []time.Duration{-1, 0, 1} {
							for _, more := range []time.Duration{-1, 0, 1} {
								delay := span + ticks*tick + more
								all = append(all, expect(t, timer, start, delay, fmt.Sprint("delay ", delay, " after ", wait)))
							}
						}
					}
				}
				pass(2 * time.Duration(size*size*size*size) * tick)
				for _, ran := range all {
					require.True(t, *ran)
				}
				assert.GreaterOrEqual(t, timer.Levels(), 5)
			})
		})
	}
}

func TestDelaysOfYears(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, size := range []int{2, 64, 1 << 14} {
		bubble(t, size, func(t *testing.T, timer *hierarchical.Timer, start time.Time) {
			pass(tick / 3)
			var all []*bool
			for _, delay := range []time.Duration{year, 10*year + 1, 37*year - tick, 70 * year} {
				all = append(all, expect(t, timer, start, delay, delay.String()))
			}
			pass(71 * year)
			for _, ran := range all {
				assert.True(t, *ran)
			}
			assert.Less(t, timer.Stats().Wakeups, int64(4*45), "at most one wake-up per level")
		})
	}
}

// TestEndlessDelaysNeverExpire lets half of the clock's range pass.
func TestEndlessDelaysNeverExpire(t *testing.T) {
	for _, size := range []int{2, 64, 1 << 14} {
		bubble(t, size, func(t *testing.T, timer *hierarchical.Timer, start time.Time) {
			timeout, err := timer.NewTimeout(nop, math.MaxInt64)
			require.NoError(t, err)
			soon := expect(t, timer, start, time.Hour, "among endless ones")
			pass(1<<61 - time.Hour)
			assert.True(t, *soon)
			assert.False(t, timeout.IsExpired())
			require.True(t, timeout.Reset(0))
			pass(2 * tick)
			assert.True(t, timeout.IsExpired(), "reset from an endless delay")
		})
	}
}

func TestLevelsAppearWhenADelayNeedsThem(t *testing.T) {
	bubble(t, 10, func(t *testing.T, timer *hierarchical.Timer, _ time.Time) {
		assert.Equal(t, 1, timer.Levels(), "before anything")
		for levels, ticks := range map[int]time.Duration{1: 5, 2: 50, 3: 500, 6: 500_000} {
			if levels < timer.Levels() {
				continue // map order is random, and levels never disappear
			}
			timeout, err := timer.NewTimeout(nop, ticks*tick)
			require.NoError(t, err)
			pass(2 * tick)
			assert.Equal(t, levels, timer.Levels())
			timeout.Cancel() // or the worker would not examine the next one yet
		}
		pass(time.Hour)
		assert.Equal(t, 6, timer.Levels(), "they stay")
		timer.Stop()
		assert.Equal(t, 6, timer.Levels(), "after Stop, too")
	})
}

// TestEarlierBucketWakesTheWorker lets the worker sleep until a distant bucket, and adds
// an earlier one, by NewTimeout and by Reset.
func TestEarlierBucketWakesTheWorker(t *testing.T) {
	bubble(t, 64, func(t *testing.T, timer *hierarchical.Timer, start time.Time) {
		_, err := timer.NewTimeout(nop, 1000*time.Hour)
		require.NoError(t, err)
		moved, err := timer.NewTimeout(nop, 900*time.Hour)
		require.NoError(t, err)
		pass(time.Minute + tick/2)
		for _, delay := range []time.Duration{50 * time.Hour, time.Hour, time.Minute, tick} {
			before := timer.Stats().Wakeups
			ran := expect(t, timer, start, delay, "an earlier one")
			require.True(t, moved.Reset(delay+tick))
			pass(delay + 3*tick)
			assert.True(t, *ran)
			assert.True(t, moved.IsExpired())
			assert.Less(t, timer.Stats().Wakeups-before, int64(20))
			moved, err = timer.NewTimeout(nop, 900*time.Hour)
			require.NoError(t, err)
			pass(10 * tick)
		}
	})
}

// After a sleep, the delay spans a high level, counted from the wheel's last tick.
func TestSleepIsNoLag(t *testing.T) {
	for _, idle := range []time.Duration{177 * time.Millisecond, time.Hour, 1000 * time.Hour} {
		bubble(t, 64, func(t *testing.T, timer *hierarchical.Timer, _ time.Time) {
			_, err := timer.NewTimeout(nop, 0)
			require.NoError(t, err)
			pass(idle)
			_, err = timer.NewTimeout(nop, 10*time.Second)
			require.NoError(t, err)
			pass(11 * time.Second)
			s := timer.Stats()
			assert.EqualValues(t, 2, s.Expired)
			assert.Less(t, s.MaxLag, tick)
		})
	}
}

// TestEmptyTicksAreSkipped schedules one timeout per day for a month.
func TestEmptyTicksAreSkipped(t *testing.T) {
	bubble(t, 64, func(t *testing.T, timer *hierarchical.Timer, start time.Time) {
		var all []*bool
		for day := range 30 {
			all = append(all, expect(t, timer, start, time.Duration(day+1)*24*time.Hour, "daily"))
		}
		pass(31 * 24 * time.Hour)
		for _, ran := range all {
			assert.True(t, *ran)
		}
		assert.LessOrEqual(t, timer.Stats().Ticks, int64(30*5), "one tick per level's bucket")
	})
}
