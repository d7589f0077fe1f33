// Package hwttest tests implementations of the contract of package hwt, as
// testing/slogtest does for handlers of package log/slog. A test of an engine calls
// [Run], and a test of a wrapper that implements only [hwt.Timer] calls [RunTimer]:
//
//	func TestContract(t *testing.T) {
//		hwttest.Run(t, func(tb testing.TB, c hwttest.Options) hwt.Engine {
//			timer, err := sundial.New(&sundial.Options{TickDuration: c.TickDuration, Executor: c.Executor})
//			if err != nil {
//				tb.Fatal(err)
//			}
//			return timer
//		})
//	}
//
// Each check is a subtest with a name that states one claim. Most checks run in fake time, in a
// bubble of testing/synctest: hours pass in an instant, and times are exact. The others run on
// the real clock, as races need several processors. Together they take about five seconds.
//
// Outside this module, the package imports only the standard library, so it adds no
// dependency.
package hwttest

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// Options holds the options of the timer for a check. The zero value of a field means
// the implementation's default.
//
// A factory must apply every field that is not zero. If the implementation lacks the
// corresponding option, the factory should call [testing.TB.Skip].
type Options struct {
	// TickDuration is the tick duration, and is never zero. A task may run up to one tick
	// after its deadline, or at it. Implementations without ticks ignore it.
	TickDuration time.Duration

	// MaxPendingTimeouts is the pending limit.
	MaxPendingTimeouts int64

	// Executor runs the tasks and the callbacks of hwt.CancelledTask.
	Executor hwt.Executor

	// ErrorHandler receives the errors of tasks.
	ErrorHandler func(hwt.Timeout, error)

	// Logger receives the errors of tasks if there is no ErrorHandler.
	Logger *slog.Logger

	// RecordCallers lets [hwt.CallerOf] find the line that scheduled a timeout.
	RecordCallers bool

	// LabelTasks sets the pprof labels of the package documentation of hwt while a
	// task runs.
	LabelTasks bool
}

// factory makes the engine of a check.
type factory func(tb testing.TB, c Options) hwt.Engine

// Run checks all promises of package hwt, one per subtest, on engines that newTimer
// makes. newTimer is called once or more per check, and must not keep the engine. Run
// stops each engine at the end of its check.
func Run(t *testing.T, newTimer func(tb testing.TB, c Options) hwt.Engine) {
	runThemes(t, themes(), newTimer)
}

func runThemes(t *testing.T, themes []theme, newTimer factory) {
	for _, theme := range themes {
		t.Run(theme.name, func(t *testing.T) {
			for _, c := range theme.checks {
				t.Run(c.name, func(t *testing.T) {
					c.on(t, func(t *testing.T) { c.run(t, newTimer) })
				})
			}
		})
	}
}

// theme is a group of checks.
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
		{"Bubbles", bubbleChecks},
		{"Observed", observedChecks},
		{"Event", eventChecks},
	}
}

// check tests one claim about an engine. Its name states the claim.
type check struct {
	name string
	on   clock
	run  func(tb testing.TB, newTimer factory)
}

// clock provides the time of a check.
type clock func(t *testing.T, run func(t *testing.T))

// fake runs a check in a bubble. The bubble fails if the check leaves a goroutine.
func fake(t *testing.T, run func(t *testing.T)) {
	skipped := false
	enginetest.Bubble(t, func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		run(t)
	})
	if skipped { // A bubble does not pass this on.
		t.SkipNow()
	}
}

// realClock runs a check in real time, and fails if the check leaves a goroutine.
func realClock(t *testing.T, run func(t *testing.T)) {
	before := goroutines()
	t.Cleanup(func() { // Runs last, after the engine's Stop.
		var left []string
		gone := func() bool {
			left = left[:0]
			for id, stack := range goroutines() {
				if _, old := before[id]; !old {
					left = append(left, stack)
				}
			}
			return len(left) == 0
		}
		if !eventually(t, "the check left no goroutine", gone) {
			t.Log(strings.Join(left, "\n\n"))
		}
	})
	run(t)
}

// goroutines returns the stacks of all goroutines by their numbers.
func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	stacks := make(map[string]string)
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		stacks[id] = stack
	}
	return stacks
}

// tick is the default tick of checks.
const tick = 10 * time.Millisecond

// start makes the engine of a check, and stops it at the end of the check.
func (newTimer factory) start(tb testing.TB, c Options) hwt.Engine {
	if c.TickDuration == 0 {
		c.TickDuration = tick
	}
	e := newTimer(tb, c)
	require.NotNil(tb, e)
	tb.Cleanup(func() { e.Stop() })
	return e
}
