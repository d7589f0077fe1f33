package hashedwheel

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestOutOfRangeErrorNamesFieldValueAndRange(t *testing.T) {
	most := strconv.Itoa(maxTicksPerWheel)
	for want, options := range map[string]Options{
		"TickDuration: -1s (expected: 0 for the default, or at least 1ms)":                     {TickDuration: -time.Second},
		"TicksPerWheel: -5 (expected: 0 for the default, or 1 to " + most + ")":                {TicksPerWheel: -5},
		"TicksPerWheel: " + strconv.Itoa(maxTicksPerWheel+1) + " (expected: 0 for the default": {TicksPerWheel: maxTicksPerWheel + 1},
		"TicksPerWheel: " + strconv.Itoa(math.MaxInt) + " (expected: ":                         {TicksPerWheel: math.MaxInt},
		"TicksPerWheel: " + strconv.Itoa(math.MinInt) + " (expected: ":                         {TicksPerWheel: math.MinInt},
		"Executor: (*hashedwheel.pool)(nil) (expected: nil for none, or an executor)":          {Executor: (*pool)(nil)},
	} {
		timer, err := New(&options)
		assert.ErrorContains(t, err, "hashedwheel: Options."+want)
		assert.Nil(t, timer)
	}
}

// pool is an executor.
type pool struct{}

func (*pool) Execute(task func()) error {
	task()
	return nil
}

func TestWheelIsRoundedUpToAPowerOfTwo(t *testing.T) {
	for asked, want := range map[int]int{
		1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 500: 512, 512: 512, 513: 1024, 1023: 1024, 1025: 2048,
		maxTicksPerWheel/2 + 1: maxTicksPerWheel, maxTicksPerWheel: maxTicksPerWheel,
	} {
		c, err := complete(&Options{TicksPerWheel: asked})
		require.NoError(t, err)
		assert.Equal(t, want, c.TicksPerWheel, "TicksPerWheel %d", asked)
	}
	if strconv.IntSize == 64 {
		assert.EqualValues(t, 1<<30, maxTicksPerWheel, "Netty's")
	} else {
		assert.EqualValues(t, 1<<26, maxTicksPerWheel)
	}
}

func TestTickBelowAMillisecondIsAnError(t *testing.T) {
	for _, asked := range []time.Duration{1, time.Microsecond, time.Millisecond - 1} {
		_, err := New(&Options{TickDuration: asked})
		assert.ErrorContains(t, err, "TickDuration: "+asked.String()+" (expected: 0 for the default, or at least 1ms)")
	}
	timer, err := New(&Options{TickDuration: time.Millisecond})
	require.NoError(t, err)
	timer.Stop()
}

func TestRotationMustNotOverflow(t *testing.T) {
	for _, c := range []struct {
		tick  time.Duration
		wheel int
		ok    bool
	}{
		{math.MaxInt64, 1, false},
		{math.MaxInt64 - 1, 1, true},
		{math.MaxInt64 / 2, 2, false},
		{math.MaxInt64/2 - 1, 2, true},
		{math.MaxInt64 / 512, 500, false}, // 500 is rounded up to 512
		{math.MaxInt64/512 - 1, 512, true},
		{8 * time.Second, maxTicksPerWheel, true},
		{math.MaxInt64 / maxTicksPerWheel, maxTicksPerWheel, false},
	} {
		timer, err := New(&Options{TickDuration: c.tick, TicksPerWheel: c.wheel})
		if c.ok {
			require.NoError(t, err, "%+v", c)
			timer.Stop()
			continue
		}
		require.Error(t, err, "%+v", c)
		assert.ErrorContains(t, err, "hashedwheel: Options.TickDuration: "+c.tick.String()+" (expected: less than ")
	}
}

func TestDefaultsAreNettys(t *testing.T) {
	for _, options := range []*Options{nil, {}} {
		timer, err := New(options)
		require.NoError(t, err)
		defer timer.Stop()
		assert.Equal(t, "hashedwheel.Timer(hashedwheel, tick 100ms, 512 buckets, 0 pending)", timer.String())
		for range 1000 { // no limit
			_, err := timer.AfterFunc(time.Hour, func() {})
			require.NoError(t, err)
		}
	}
}

func TestPendingLimitThatIsNotReached(t *testing.T) {
	for _, n := range []int64{0, 10, math.MaxInt64} {
		timer, err := New(&Options{MaxPendingTimeouts: n})
		require.NoError(t, err)
		for range 10 {
			_, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return nil }), time.Hour)
			require.NoError(t, err)
		}
		assert.Len(t, timer.Stop(), 10)
	}
}
