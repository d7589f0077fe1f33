package time_test

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	std "time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/dropin/internal/stdapi"
	"github.com/hashedwheel/hwt/dropin/internal/wheeltest"
	"github.com/hashedwheel/hwt/dropin/time"
)

// These tests use the real clock, because bubbles use package time. They wait for
// short timers and never measure.
const (
	soon = 5 * time.Millisecond // more than two ticks
	long = time.Hour
)

func TestMain(m *testing.M) { wheeltest.Main(m) }

func TestEveryNameOfPackageTimeIsHere(t *testing.T) {
	missing, err := stdapi.Missing("time", ".")
	require.NoError(t, err)
	assert.Empty(t, missing, "add them to std.go")
}

// TestProgramsCompile uses the types of package time as programs do.
func TestProgramsCompile(t *testing.T) {
	type session struct {
		*time.Timer
		ticker *time.Ticker
		due    time.Time
		after  func(time.Duration) <-chan time.Time
		now    func() std.Time // the same type
	}
	s := session{Timer: time.NewTimer(long), ticker: time.NewTicker(long), after: time.After, now: time.Now}
	defer s.ticker.Stop()
	s.due = s.now().Add(long)
	var any any = s.Timer
	timer, ok := any.(*time.Timer)
	assert.True(t, ok)
	select {
	case <-s.C:
		t.Error("an hour has not passed")
	case <-s.ticker.C:
		t.Error("an hour has not passed")
	default:
	}
	assert.True(t, timer.Stop())
	assert.Equal(t, std.March, time.March)
	assert.Same(t, std.UTC, time.UTC)
	fake := time.Timer{C: make(chan time.Time)}
	assert.PanicsWithValue(t, "time: Stop called on uninitialized Timer", func() { fake.Stop() })
	assert.PanicsWithValue(t, "time: Reset called on uninitialized Timer", func() { fake.Reset(soon) })
}

func TestTimersAreOnTheWheel(t *testing.T) {
	before := wheeltest.Pending()
	onWheel := func() int { return wheeltest.Pending() - before }
	timer := time.NewTimer(long)
	assert.EqualValues(t, 1, onWheel())
	called := time.AfterFunc(long, func() { t.Error("an hour has not passed") })
	assert.EqualValues(t, 2, onWheel())
	ticker := time.NewTicker(long)
	assert.EqualValues(t, 3, onWheel())
	assert.True(t, timer.Stop())
	assert.False(t, timer.Stop())
	assert.True(t, called.Stop())
	ticker.Stop()
	assert.Zero(t, onWheel())
	assert.False(t, timer.Reset(long))
	assert.EqualValues(t, 1, onWheel())
	assert.True(t, timer.Reset(time.Millisecond), "which is short")
	assert.Zero(t, onWheel())
	<-timer.C
}

func TestTimersFire(t *testing.T) {
	start := time.Now()
	timer, ticker, called := time.NewTimer(soon), time.NewTicker(soon), make(chan struct{})
	time.AfterFunc(soon, func() { close(called) })
	ticks := time.Tick(soon)
	for _, c := range []<-chan time.Time{timer.C, ticker.C, time.After(soon), ticks, ticker.C, ticks} {
		due := <-c
		assert.False(t, due.Before(start.Add(soon)), "early")
	}
	<-called
	assert.Nil(t, time.AfterFunc(long, func() {}).C)
	ticker.Reset(2 * soon)
	<-ticker.C
	ticker.Stop()
	time.Sleep(soon)
	assert.GreaterOrEqual(t, time.Since(start), 4*soon)
}

func TestBubblesHavePackageTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the wheel, made outside, would panic
		start, called := time.Now(), false
		timer, ticker := time.NewTimer(long), time.NewTicker(long)
		time.AfterFunc(long, func() { called = true })
		after, ticks := time.After(long), time.Tick(long)
		time.Sleep(long)
		synctest.Wait()
		assert.True(t, called)
		for _, c := range []<-chan time.Time{timer.C, ticker.C, after, ticks} {
			assert.Equal(t, start.Add(long), <-c)
			assert.Zero(t, cap(c), "that of package time")
		}
		assert.False(t, timer.Reset(long))
		assert.True(t, timer.Stop())
		ticker.Reset(2 * long)
		assert.Equal(t, start.Add(3*long), <-ticker.C)
		ticker.Stop()
	})
}

func TestPeriodsMustBePositive(t *testing.T) {
	assert.Nil(t, time.Tick(0))
	assert.Panics(t, func() { time.NewTicker(0) })
	assert.PanicsWithValue(t, "non-positive interval for Ticker.Reset", func() { new(time.Ticker).Reset(0) })
	assert.PanicsWithValue(t, "time: Reset called on uninitialized Ticker", func() { new(time.Ticker).Reset(1) })
	assert.NotPanics(t, new(time.Ticker).Stop)
}

// TestPanicEndsTheProgram runs a process for each place where a function runs.
func TestPanicEndsTheProgram(t *testing.T) {
	if delay := os.Getenv("PANIC_AFTER"); delay != "" {
		d, err := time.ParseDuration(delay)
		require.NoError(t, err)
		time.AfterFunc(d, func() { panic("the end") })
		time.Sleep(20 * time.Second)
		return
	}
	for _, delay := range []string{"0s", "1ms", "10ms"} {
		child := exec.Command(os.Args[0], "-test.run=^TestPanicEndsTheProgram$")
		child.Env = append(os.Environ(), "PANIC_AFTER="+delay)
		out, err := child.CombinedOutput()
		require.Error(t, err, delay)
		assert.Contains(t, string(out), "panic: the end", delay)
	}
}
