// Package timertest is a test suite for the contract of package hwt. An engine's
// test calls Run and nothing else:
//
//	func TestContract(t *testing.T) {
//		timertest.Run(t, func(tb testing.TB, c timertest.Config) hwt.Engine {
//			...
//		})
//	}
//
// A check runs in a testing/synctest bubble if fake time can show what it checks, so
// that hours pass at once and every instant is exact. The others run on the real
// clock, and each says why.
//
// One file holds one theme. A check is a function of a testing.TB and the
// engine's factory, so that the package's own test can also run it against
// engines that are broken on purpose, and see it fail.
package timertest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// Config is what a check asks of the engine it is given. A zero value means the
// engine's default, except that Tick is always set: an engine without a tick
// takes it as the tolerance only.
type Config struct {
	Tick         time.Duration
	MaxPending   int64
	Executor     hwt.Executor
	ErrorHandler func(hwt.Timeout, error)
	Logger       *slog.Logger

	RecordCallers, LabelTasks bool
}

// Factory makes an engine for one check. The suite stops it, unless the check is
// about engines that are not stopped. The factory must not keep a reference to it. In a bubble, time
// stands still between the factory's call and the check's first step, so that
// ticks count from there.
type Factory func(tb testing.TB, c Config) hwt.Engine

// Run checks the whole contract on the engines that newTimer makes.
func Run(t *testing.T, newTimer func(tb testing.TB, c Config) hwt.Engine) {
	for _, theme := range themes() {
		t.Run(theme.name, func(t *testing.T) {
			for _, c := range theme.checks {
				t.Run(c.name, func(t *testing.T) {
					c.on(t, func(t *testing.T) { c.run(t, newTimer) })
				})
			}
		})
	}
}

// theme is a part of the contract.
type theme struct {
	name   string
	checks []check
}

func themes() []theme {
	return []theme{
		{"Facts", factChecks},
		{"Time", timeChecks},
		{"Deadline", deadlineChecks},
		{"End", endChecks},
		{"Cancel", cancelChecks},
		{"Reset", resetChecks},
		{"Linear", linearChecks},
		{"Moves", movesChecks},
		{"Stop", stopChecks},
		{"Shutdown", shutdownChecks},
		{"All", allChecks},
		{"Batch", batchChecks},
		{"Isolation", isolationChecks},
		{"Executor", executorChecks},
		{"CancelledTask", cancelledTaskChecks},
		{"Limit", limitChecks},
		{"Linger", lingerChecks},
		{"Inside", insideChecks},
		{"FakeTime", fakeTimeChecks},
		{"Bubbles", bubbleChecks},
		{"Observed", observedChecks},
	}
}

// check is one claim about an engine; its name is the claim.
type check struct {
	name string
	on   clock
	run  func(tb testing.TB, newTimer Factory)
}

// clock is where a check's time comes from.
type clock func(t *testing.T, run func(t *testing.T))

// fake runs a check in a bubble. The bubble fails it if a goroutine is left.
func fake(t *testing.T, run func(t *testing.T)) { enginetest.Bubble(t, run) }

// realClock runs a check in real time, and fails it if a goroutine is left.
func realClock(t *testing.T, run func(t *testing.T)) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { // Runs last, after the engine's Stop.
		var left error // Find waits no longer than half a second.
		if !eventually(t, "no goroutine left", func() bool { left = goleak.Find(before); return left == nil }) {
			t.Log(left)
		}
	})
	run(t)
}

// tick is the tick of the checks in fake time that have no reason for another.
const tick = 10 * time.Millisecond

// start makes the engine of a check, and stops it at the end.
func (newTimer Factory) start(tb testing.TB, c Config) hwt.Engine {
	tb.Helper()
	if c.Tick == 0 {
		c.Tick = tick
	}
	e := newTimer(tb, c)
	require.NotNil(tb, e)
	tb.Cleanup(func() { e.Stop() })
	return e
}
