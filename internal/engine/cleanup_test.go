package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// noTimers lets the test count timers from zero.
func noTimers(t *testing.T) {
	before := live.Swap(0)
	warned.Store(false)
	t.Cleanup(func() { live.Store(before) })
}

func TestSixtyFifthLiveTimerGivesOneWarning(t *testing.T) {
	noTimers(t)
	warnings := 0
	warn := func(string, ...any) { warnings++ }
	for range maxTimers {
		countInstance(warn)
	}
	assert.Zero(t, warnings, "%d timers", maxTimers)
	for range 3 {
		countInstance(warn)
	}
	assert.Equal(t, 1, warnings)
}

// The real clock, because a deadlock would be an endless wait.
func TestLogHandlerMayCreateATimer(t *testing.T) {
	noTimers(t)
	warnings, done := 0, make(chan struct{})
	var warn func(string, ...any)
	warn = func(string, ...any) {
		warnings++
		countInstance(warn)
	}
	go func() {
		defer close(done)
		for range maxTimers + 2 {
			countInstance(warn)
		}
	}()
	select {
	case <-done:
		assert.Equal(t, 1, warnings)
	case <-time.After(10 * time.Second):
		assert.Fail(t, "deadlock")
	}
}
