package clock_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestMissedRunsFollowTheirOptions holds back the task of the first run until 3.5 units
// have passed.
func TestMissedRunsFollowTheirOptions(t *testing.T) {
	for name, c := range map[string]struct {
		missed  clock.Missed
		overlap clock.Overlap
		begins  []int
		skipped int64
	}{
		"last":                 {clock.Missed{}, clock.OverlapSkip, []int{3, 4}, 0},
		"last, too late":       {clock.Missed{MaxLateness: unit / 4}, clock.OverlapSkip, []int{4}, 0},
		"not too late":         {clock.Missed{MaxRuns: 4, MaxLateness: 2 * unit}, clock.OverlapQueueOne, []int{3, 3, 4}, 0},
		"all":                  {clock.Missed{MaxRuns: 100}, clock.OverlapQueueOne, []int{3, 3, 3, 4}, 0},
		"the last two":         {clock.Missed{MaxRuns: 2}, clock.OverlapQueueOne, []int{3, 3, 4}, 0},
		"all, without overlap": {clock.Missed{MaxRuns: 100}, clock.OverlapSkip, []int{3, 3, 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, timer hwt.Engine) {
				start := time.Now()
				var begins list[int]
				held := &holding{Timer: timer}
				job, err := newClock(t, held).ScheduleFunc(clock.FixedRate(unit), func() {
					begins.add(units(start))
					time.Sleep(unit / 5)
				}, &clock.JobOptions{Overlap: c.overlap, Missed: c.missed})
				require.NoError(t, err)
				held.hold()
				pass(3*unit + unit/2)
				held.release()
				pass(unit)
				job.Stop()
				job.Wait()
				assert.Equal(t, c.begins, begins.take())
				assert.Equal(t, c.skipped, job.Status().Skipped)
			})
		})
	}
}

// TestLateFixedDelayIsSkipped holds back the task of a job whose schedule
// counts from the end of each run.
func TestLateFixedDelayIsSkipped(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		start := time.Now()
		var begins list[int]
		held := &holding{Timer: timer}
		job, err := newClock(t, held).ScheduleFunc(clock.FixedDelay(unit), func() { begins.add(units(start)) },
			&clock.JobOptions{Missed: clock.Missed{MaxLateness: unit}})
		require.NoError(t, err)
		held.hold()
		pass(3*unit + unit/2)
		held.release()
		pass(unit + slop)
		job.Stop()
		job.Wait()
		assert.Equal(t, []int{4}, begins.take())
	})
}

// The delays are up to nearly the time between two runs.
func TestJitteredRunsAreNotMissed(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClock(t, newTimer(t))
		start := time.Now().Truncate(time.Second)
		end := start.Add(time.Hour)
		spec := newSpec(t, "END="+end.Format(time.RFC3339)+" JITTER=59s * * * * *")
		var begins list[time.Time]
		job, err := c.ScheduleFunc(spec, func() { begins.add(time.Now()) },
			&clock.JobOptions{Missed: clock.Missed{MaxLateness: time.Second}, Overlap: clock.OverlapParallel})
		require.NoError(t, err)
		job.Wait()
		all := begins.take()
		assert.Len(t, all, 60)
		assert.LessOrEqual(t, all[59].Sub(end), 2*tick, "the last delay ends at the end")
		for i, begin := range all {
			due := start.Add(time.Duration(i+1) * time.Minute)
			assert.GreaterOrEqual(t, begin.Sub(due), time.Duration(0))
			assert.Less(t, begin.Sub(due), time.Minute)
		}
	})
}

// TestHundredJobsRunForAYear runs a hundred jobs for a year, on the engine for schedules of
// days. It logs the time that this takes on the real clock.
func TestHundredJobsRunForAYear(t *testing.T) {
	began := time.Now()
	enginetest.Bubble(t, func(t *testing.T) {
		timer, err := hierarchical.New(&hierarchical.Options{TickDuration: tick})
		require.NoError(t, err)
		defer timer.Stop()
		c := newClock(t, timer)
		var want, got atomic.Int64
		texts := []string{"0 2 * * *", "30 2 * * *", "*/5 12 * * 1", "0 9 * * 1-5", "0 0 1 * *"}
		for i := range 100 {
			spec := newSpec(t, "CRON_TZ="+zones[i%len(zones)]+" "+texts[i/20])
			for next := spec.Next(time.Now()); time.Until(next) < 365*24*time.Hour; next = spec.Next(next) {
				want.Add(1)
			}
			job := newJob(t, c, spec, func() { got.Add(1) })
			defer job.Stop()
		}
		pass(365*24*time.Hour - slop)
		assert.Greater(t, want.Load(), int64(30_000))
		assert.Equal(t, want.Load(), got.Load())
	})
	t.Logf("%v", time.Since(began))
}
