package hashedwheel

import (
	"bytes"
	"log/slog"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestValueOutOfRangeIsAnErrorThatNamesOptionValueAndRange(t *testing.T) {
	for _, c := range []struct {
		option Option
		names  []string
	}{
		{WithTickDuration(0), []string{"WithTickDuration", " 0s ", "expected: > 0"}},
		{WithTickDuration(-time.Second), []string{"WithTickDuration", "-1s", "expected: > 0"}},
		{WithTicksPerWheel(0), []string{"WithTicksPerWheel", " 0 ", "expected: 1 to " + strconv.Itoa(MaxTicksPerWheel)}},
		{WithTicksPerWheel(-5), []string{"WithTicksPerWheel", "-5", "expected: 1 to"}},
		{WithTicksPerWheel(MaxTicksPerWheel + 1), []string{"WithTicksPerWheel", strconv.Itoa(MaxTicksPerWheel + 1), "expected: 1 to"}},
		{WithTicksPerWheel(math.MaxInt), []string{"WithTicksPerWheel", strconv.Itoa(math.MaxInt)}},
		{WithTicksPerWheel(math.MinInt), []string{"WithTicksPerWheel", strconv.Itoa(math.MinInt)}},
		{WithExecutor(nil), []string{"WithExecutor", "nil", "expected: an executor"}},
		{WithLogger(nil), []string{"WithLogger", "nil", "expected: a logger"}},
		{WithErrorHandler(nil), []string{"WithErrorHandler", "nil", "expected: a function"}},
		{WithName(""), []string{"WithName", `""`, "expected: a name"}},
		{WithSlowTaskThreshold(-1), []string{"WithSlowTaskThreshold", "-1ns", "expected: >= 0"}},
		{WithStopTimeout(-time.Minute), []string{"WithStopTimeout", "-1m0s", "expected: >= 0"}},
		{nil, []string{"New", "option 1 is nil"}},
	} {
		timer, err := New(WithName("x"), c.option)
		require.Error(t, err, c.names[0])
		assert.Nil(t, timer)
		assert.Contains(t, err.Error(), "hashedwheel: ")
		for _, name := range c.names {
			assert.Contains(t, err.Error(), name)
		}
	}
}

func TestWheelIsRoundedUpToAPowerOfTwo(t *testing.T) {
	for asked, want := range map[int]int{
		1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 500: 512, 512: 512, 513: 1024, 1023: 1024, 1025: 2048,
		MaxTicksPerWheel/2 + 1: MaxTicksPerWheel, MaxTicksPerWheel: MaxTicksPerWheel,
	} {
		c, err := newConfig([]Option{WithTicksPerWheel(asked), WithTickDuration(time.Millisecond)})
		require.NoError(t, err)
		assert.Equal(t, want, c.ticksPerWheel, "asked for %d", asked)
	}
	if strconv.IntSize == 64 {
		assert.EqualValues(t, 1<<30, MaxTicksPerWheel, "Netty's")
	} else {
		assert.EqualValues(t, 1<<26, MaxTicksPerWheel)
	}
}

func TestTickBelowAMillisecondIsRaisedWithAWarning(t *testing.T) {
	for _, asked := range []time.Duration{1, time.Microsecond, time.Millisecond - 1} {
		var log bytes.Buffer
		timer, err := New(WithTickDuration(asked), WithName("fine"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		assert.Contains(t, timer.String(), "tick 1ms")
		assert.Contains(t, log.String(), "level=WARN")
		assert.Contains(t, log.String(), asked.String())
		assert.Contains(t, log.String(), "1ms")
		assert.Contains(t, log.String(), "fine")
		timer.Stop()
	}
	var log bytes.Buffer
	timer, err := New(WithTickDuration(time.Millisecond), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.NoError(t, err)
	assert.Empty(t, log.String())
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
		{math.MaxInt64 / 512, 500, false}, // the wheel counts as it is, not as it was asked for
		{math.MaxInt64/512 - 1, 512, true},
		{8 * time.Second, MaxTicksPerWheel, true},
		{math.MaxInt64 / MaxTicksPerWheel, MaxTicksPerWheel, false},
	} {
		timer, err := New(WithTickDuration(c.tick), WithTicksPerWheel(c.wheel))
		if c.ok {
			require.NoError(t, err, "%+v", c)
			timer.Stop()
			continue
		}
		require.Error(t, err, "%+v", c)
		assert.Contains(t, err.Error(), "WithTickDuration: "+c.tick.String())
		assert.Contains(t, err.Error(), "expected: 0 < tick duration <")
	}
}

func TestDefaultsAreNettys(t *testing.T) {
	timer, err := New()
	require.NoError(t, err)
	defer timer.Stop()
	assert.Equal(t, "hashedwheel.Timer(hashedwheel, tick 100ms, 512 buckets, 0 pending)", timer.String())
	for range 1000 { // no limit
		_, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
	}
}

func TestLaterOptionWins(t *testing.T) {
	timer, err := New(WithName("a"), WithTicksPerWheel(4), WithName("b"), WithTicksPerWheel(16))
	require.NoError(t, err)
	defer timer.Stop()
	assert.Contains(t, timer.String(), "(b, tick 100ms, 16 buckets")
}

func TestZeroOrLessMeansNoLimit(t *testing.T) {
	for _, n := range []int64{0, -1, math.MinInt64, math.MaxInt64} {
		timer, err := New(WithMaxPendingTimeouts(n))
		require.NoError(t, err)
		for range 10 {
			_, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { return nil }), time.Hour)
			require.NoError(t, err)
		}
		assert.Len(t, timer.Stop(), 10)
	}
}
