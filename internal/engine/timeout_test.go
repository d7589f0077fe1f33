package engine

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestStringNamesDeadlineEndAndTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		task := new(noticeTask)
		far := e.add(t, task, time.Hour)
		assert.Equal(t, "timeout(in 1h0m0s, task *engine.noticeTask)", far.String())
		pass(30 * time.Minute)
		assert.Equal(t, "timeout(in 30m0s, task *engine.noticeTask)", fmt.Sprint(far))
		far.Cancel()
		assert.Equal(t, "timeout(in 30m0s, cancelled, task *engine.noticeTask)", fmt.Sprint(far))
		pass(time.Hour)
		assert.Equal(t, "timeout(30m0s ago, cancelled, task *engine.noticeTask)", fmt.Sprint(far))

		now := e.add(t, new(noticeTask), 0)
		assert.Equal(t, "timeout(now, task *engine.noticeTask)", fmt.Sprint(now))
		pass(tick)
		assert.Equal(t, "timeout(10ms ago, expired, task *engine.noticeTask)", fmt.Sprint(now))

		never := e.add(t, task, math.MaxInt64)
		assert.Equal(t, "timeout(never, task *engine.noticeTask)", fmt.Sprint(never))
		never.Reset(time.Second)
		assert.Equal(t, "timeout(in 1s, task *engine.noticeTask)", fmt.Sprint(never))
		never.Reset(math.MaxInt64)
		e.Stop()
		assert.Equal(t, "timeout(never, cancelled, task *engine.noticeTask)", fmt.Sprint(never))
	})
}

func TestDeadlinesSaturateInsteadOfWrapping(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.Tick = time.Nanosecond }) // the largest number of ticks
		pass(time.Hour)
		c := e.core
		for _, delay := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, forever, forever - time.Hour} {
			assert.EqualValues(t, int64(forever), c.env.clock.Deadline(delay))
		}
		assert.EqualValues(t, int64(forever-1), c.env.clock.Deadline(forever-time.Hour-1))
		for _, delay := range []time.Duration{math.MinInt64, -1, 0} {
			assert.EqualValues(t, time.Hour, c.env.clock.Deadline(delay))
		}
	})
}

func TestTickOfReturnsTheFirstTickNotEarlier(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, d := range []time.Duration{1, 2, 3, time.Millisecond, 1234567, time.Hour, forever, math.MaxInt64/2 + 1, math.MaxInt64 - 1} {
			c := newTimer(t, func(c *Config) { c.Tick = d }).core
			for _, deadline := range []int64{1, 2, int64(d) - 1, int64(min(d, forever)), int64(min(d, forever-1)) + 1, forever - 1, forever} {
				if deadline < 1 || deadline > forever {
					continue
				}
				tick := c.schedule.tickOf(deadline)
				assert.GreaterOrEqual(t, uint64(tick)*uint64(d), uint64(deadline), "tick %v", d)
				assert.Less(t, uint64(tick-1)*uint64(d), uint64(deadline), "tick %v", d)
				assert.LessOrEqual(t, uint64(tick)*uint64(d), uint64(math.MaxInt64), "the worker multiplies them")
			}
		}
	})
}

func TestTimeoutFillsItsSizeClassOn64BitMachines(t *testing.T) {
	if strconv.IntSize != 64 {
		t.Skip("sizes are those of 64-bit machines")
	}
	assert.EqualValues(t, 48, unsafe.Sizeof(Timeout{}))
	assert.Zero(t, unsafe.Offsetof(Timeout{}.state), "64-bit atomics must be first on 32-bit machines")
}
