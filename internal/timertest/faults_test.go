package timertest

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// fault is one thing that an engine may do wrong, and the checks that find it.
type fault struct {
	name     string
	inject   func(*broken)
	caughtBy []string
}

var faults = []fault{
	{"early by a nanosecond", delays(func(d time.Duration) time.Duration { return d - 1 }),
		[]string{"NeverEarlyAndWithinATick", "AnyTickDuration", "OnTimeAmongManyOthers", "DaysPassInABubble"}},
	{"early by rounding to ticks", delays(func(d time.Duration) time.Duration { return d / time.Millisecond * time.Millisecond }),
		[]string{"NeverEarlyAndWithinATick"}},
	// By more than a loaded machine is late with every one.
	{"at once instead of later", delays(func(time.Duration) time.Duration { return 0 }),
		[]string{"NeverEarlyAndWithinATick", "NeverEarlyOnTheRealClock"}},
	{"late by a tick", delays(func(d time.Duration) time.Duration { return max(d, 0) + tick + 1 }),
		[]string{"NeverEarlyAndWithinATick", "NoDelayRunsAtTheNextOpportunity", "OnTimeAfterIdleHours"}},
	{"negative delays are lost", delays(func(d time.Duration) time.Duration {
		if d < 0 {
			return time.Hour
		}
		return d
	}), []string{"NoDelayRunsAtTheNextOpportunity"}},
	{"endless delays overflow", delays(func(d time.Duration) time.Duration {
		if d == math.MaxInt64 {
			return 0
		}
		return d
	}), []string{"EndlessDelayNeverComes"}},
	{"tasks run twice", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask { return runsTwice{task} }
	}, []string{"NeverEarlyAndWithinATick", "AnyTickDuration"}},
	{"nil tasks are taken", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask {
			if task == nil {
				return nothing
			}
			return task
		}
	}, []string{"NilTaskIsRefused"}},
	{"timeouts know another timer", func(*broken) {}, []string{"TimeoutKnowsItsTimerAndTask"}},
	{"timeouts are silent", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			timeout, err := b.Timer.NewTimeout(task, d)
			return struct{ hwt.Timeout }{timeout}, err
		}
	}, []string{"TimeoutDescribesItselfInEveryState"}},
	{"functions run late", func(b *broken) {
		b.afterFunc = func(b *broken, d time.Duration, f func()) (hwt.Timeout, error) {
			return b.Timer.AfterFunc(d+2*tick, f)
		}
	}, []string{"AfterFuncIsNewTimeoutForAFunction"}},
	{"tasks hold up others for ever", oneByOne, []string{"SlowTaskLeavesNoLag"}},
	{"bad tasks end the worker", mortal, []string{"BadTaskHarmsNoOther", "BadErrorHandlerHarmsNothing", "BadTasksOfOneTickHarmNoOther", "BlockedTaskHoldsUpNoTimeoutForGood"}},
	{"tasks cannot schedule", deafInside, []string{"EveryMethodWorksInsideATask", "TaskMayScheduleItselfAgain", "TaskMayScheduleForNow", "TasksMayScheduleMany"}},

	{"cancel lies", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return !t.IsExpired() && !t.IsCancelled() }
	}, []string{"CancelledNeverRuns", "CancelAgainstExpiryHasOneWinner", "CancelOfAnotherFromATaskHolds", "CancelInTheMiddleOfTheWait", "WholeLifeInABubble", "PendingFallsBeforeCancelReturns", "CancelAfterResetHolds"}},
	{"cancel is true twice", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return t.Cancel() || t.IsCancelled() }
	}, []string{"CancelIsTrueOnce", "CancelDuringAMoveHolds", "EveryTimeoutEndsOnce", "ConservedWhateverRaces"}},
	{"cancel is true after expiry", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return t.Cancel() || t.IsExpired() }
	}, []string{"CancelAfterExpiryIsFalse", "CancelResetAndExpiryAreLinearizable", "CancelAgainstExpiryHasOneWinner", "CancelOfAnotherFromATaskHolds"}},
	{"cancel takes effect later", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool {
			time.AfterFunc(tick/2, func() { t.Cancel() })
			return !t.IsExpired()
		}
	}, []string{"CancelledNeverRuns", "PendingFallsBeforeCancelReturns", "CancelFreesAPlaceAtOnce"}},

	{"reset does nothing", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, _ time.Duration) bool { return !t.IsExpired() && !t.IsCancelled() }
	}, []string{"ResetMovesTheDeadline", "ResetAgainAndAgain", "ResetAcrossAnyDistance", "ResetOfWhatIsJustCreated", "ResetToNoDelay", "ResetToNeverAndBack", "ResetFromOtherTasks", "ResetDuringAMoveHolds", "ResetAgainstExpiryRunsOnceAndNotEarly", "ResetAgainstExpiryOnTheRealClock"}},
	{"reset only to later", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, d time.Duration) bool { return t.Reset(max(d, 3*tick)) }
	}, []string{"ResetMovesTheDeadline", "ResetToNoDelay"}},
	{"reset always says true", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, d time.Duration) bool { t.Reset(d); return true }
	}, []string{"ResetNeverRevives", "ResetAgainstExpiryRunsOnceAndNotEarly", "CancelResetAndExpiryAreLinearizable"}},
	{"reset makes another timeout", func(b *broken) {
		b.reset = func(b *broken, t hwt.Timeout, d time.Duration) bool {
			_, err := b.Timer.NewTimeout(t.Task(), d)
			return err == nil
		}
	}, []string{"ResetNeverRevives", "ResetAgainAndAgain", "ResetMovesTheDeadline"}},

	{"stop loses one", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			if all := b.Timer.Stop(); len(all) > 0 {
				return all[1:]
			}
			return nil
		}
	}, []string{"StopReturnsExactlyWhatWasPending", "StopWithEverythingPending", "EveryTimeoutEndsOnce", "NewTimeoutAgainstStopLosesNothing", "StopFromManyGoroutines", "StopAgainstExpiryLosesNothing", "StopDuringAMoveReturnsAll", "ConservedWhateverRaces"}},
	{"stop returns the same again", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			for _, t := range b.Timer.Stop() {
				b.kept = append(b.kept, t)
			}
			var all []hwt.Timeout
			for _, t := range b.kept {
				all = append(all, t.(hwt.Timeout))
			}
			return all
		}
	}, []string{"StopTwiceReturnsNothing", "EveryTimeoutEndsOnce", "StopFromInsideATask"}},
	{"stop stops nothing", func(b *broken) { b.stop = func(*broken) []hwt.Timeout { return nil } },
		[]string{"StopRefusesNewTimeouts", "NothingRunsAfterStop", "StopEndsItsTimeouts", "StopAfterResets", "TaskThatSchedulesItselfForEverEndsWithStop", "StartMayBeCalledAnyTime", "StatesExcludeOneAnother"}},
	{"stop waits too long", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			time.Sleep(20 * time.Second)
			return b.Timer.Stop()
		}
	}, []string{"StopDoesNotWaitForEver", "StopFromWhatATaskWaitsFor", "StopOfAnUnusedTimer", "IdleTimerStopsAtOnce"}},

	{"errors are not reported", func(b *broken) { b.config.ErrorHandler = func(hwt.Timeout, error) {} },
		[]string{"BadTaskHarmsNoOther", "BadTasksOfOneTickHarmNoOther", "ExecutorThatRefusesIsReported", "ExecutorThatBreaksHarmsNothing", "BadTaskOnAnExecutorIsReported", "BadCancelledHarmsNothing"}},
	{"the log is not written", func(b *broken) { b.config.ErrorHandler = func(hwt.Timeout, error) {} },
		[]string{"BadTaskIsLoggedByDefault"}},
	{"the executor is not used", func(b *broken) { b.config.Executor = nil },
		[]string{"ExecutorRunsEveryTask", "ExecutorMayRunLater", "ExecutorThatBlocksHoldsUpNoTimeoutForGood", "CancelledRunsOnTheExecutor"}},

	{"cancelled is never told", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask { return untold{task} }
	}, []string{"CancelledIsToldOnceAndSoon", "CancelledIsToldAlsoWhenStopFollows", "CancelledSeesTheEndedTimeout", "CancelledMayUseTheTimer"}},
	{"cancelled is told twice", func(b *broken) {
		b.task = wrapped(func(t hwt.CancelledTask) toldTwice { return toldTwice{t} })
	}, []string{"CancelledIsToldOnceAndSoon"}},
	{"cancelled is told late", func(b *broken) {
		b.task = wrapped(func(t hwt.CancelledTask) toldLate { return toldLate{t} })
	}, []string{"CancelledIsToldOnceAndSoon"}},
	{"stop tells cancelled", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			all := b.Timer.Stop()
			for _, t := range all {
				if told, ok := t.Task().(hwt.CancelledTask); ok {
					told.Cancelled(t)
				}
			}
			return all
		}
	}, []string{"CancelledIsToldOfNothingElse", "StopEndsItsTimeouts"}},

	{"one too many is allowed", func(b *broken) { b.config.MaxPending++ },
		[]string{"ExactlyTheMaximumIsAllowed", "CancelFreesAPlaceAtOnce", "ExpiryFreesAPlaceForItsTask", "PlacesNeverDrift", "MaximumHoldsAgainstRaces"}},
	{"no maximum means none at all", func(b *broken) {
		if b.config.MaxPending == 0 {
			b.config.MaxPending = 1000
		}
	}, []string{"NoMaximumByDefault"}},
	{"places are lost", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			if b.calls++; b.calls%100 == 0 {
				_, _ = b.Timer.NewTimeout(nothing, 1000*time.Hour)
			}
			return b.Timer.NewTimeout(task, d)
		}
	}, []string{"PlacesNeverDrift", "ExactlyTheMaximumIsAllowed"}},
	{"pending falls too late", func(b *broken) { b.pending = func(n int64) int64 { return n + 1 } },
		[]string{"ExpiredAlreadyWhileTheTaskRuns", "PendingFallsBeforeCancelReturns"}},
	{"resets are counted", func(b *broken) {
		b.reset = func(b *broken, t hwt.Timeout, d time.Duration) bool {
			if other, err := b.Timer.NewTimeout(nothing, d); err == nil {
				other.Cancel()
			}
			return t.Reset(d)
		}
		b.config.MaxPending = 0
	}, []string{"ResetCountsNothing"}},
	{"pending goes below zero", func(b *broken) { b.pending = func(n int64) int64 { return n - 1 } },
		[]string{"ConservedWhateverRaces", "EveryTimeoutEndsOnce", "ExecutorThatRunsTwiceUpsetsNoCount"}},

	{"tasks are kept", func(b *broken) {
		b.task = func(b *broken, task hwt.TimerTask) hwt.TimerTask {
			b.kept = append(b.kept, task)
			return task
		}
	}, []string{"CancelledTaskIsCollectable", "CancelledTaskIsCollectableWhileOthersWait", "ResetAndCancelledTaskIsCollectable", "ExpiredTaskIsCollectable", "StoppedTaskIsCollectable"}},
	{"engines are kept", func(b *broken) { kept.Store(b) }, []string{"AbandonedTimerIsCollectable"}},
	{"idle engines wake up", func(b *broken) {
		begin := time.Now()
		b.stats = func(s *hwt.Stats) { s.WakeUps = int64(time.Since(begin) / tick) }
	}, []string{"IdleTimerWakesNobody"}},
}

// untold hides that a task wants to be told of its cancellation.
type untold struct{ hwt.TimerTask }

// toldTwice tells it twice.
type toldTwice struct{ hwt.CancelledTask }

func (t toldTwice) Cancelled(timeout hwt.Timeout) {
	t.CancelledTask.Cancelled(timeout)
	t.CancelledTask.Cancelled(timeout)
}

// toldLate tells it after three ticks.
type toldLate struct{ hwt.CancelledTask }

func (t toldLate) Cancelled(timeout hwt.Timeout) {
	time.Sleep(3 * tick)
	t.CancelledTask.Cancelled(timeout)
}

// runsTwice runs it twice.
type runsTwice struct{ hwt.TimerTask }

func (t runsTwice) Run(timeout hwt.Timeout) error {
	return errors.Join(t.TimerTask.Run(timeout), t.TimerTask.Run(timeout))
}

func wrapped[T hwt.TimerTask](wrap func(hwt.CancelledTask) T) func(*broken, hwt.TimerTask) hwt.TimerTask {
	return func(_ *broken, task hwt.TimerTask) hwt.TimerTask {
		if told, ok := task.(hwt.CancelledTask); ok {
			return wrap(told)
		}
		return task
	}
}

func delays(f func(time.Duration) time.Duration) func(*broken) {
	return func(b *broken) { b.delay = f }
}

// oneByOne runs tasks one after another, and rests after each.
func oneByOne(b *broken) {
	worker := make(chan struct{}, 1)
	b.task = func(_ *broken, t hwt.TimerTask) hwt.TimerTask {
		return hwt.TaskFunc(func(timeout hwt.Timeout) error {
			worker <- struct{}{}
			defer func() { <-worker }()
			defer time.Sleep(2 * tick)
			return t.Run(timeout)
		})
	}
}

// mortal runs no task any more after one that went wrong, or took very long.
func mortal(b *broken) {
	var dead atomic.Bool
	b.task = func(_ *broken, t hwt.TimerTask) hwt.TimerTask {
		return hwt.TaskFunc(func(timeout hwt.Timeout) error {
			if dead.Load() {
				return nil
			}
			begin, well := time.Now(), false
			defer func() { dead.Store(!well || time.Since(begin) > 10*time.Second) }()
			err := t.Run(timeout)
			well = err == nil
			return err
		})
	}
}

// deafInside forgets what is scheduled from inside a task.
func deafInside(b *broken) {
	var inside atomic.Int64
	b.newTimeout = func(b *broken, t hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
		if inside.Load() > 0 {
			delay = math.MaxInt64
		}
		return b.Timer.NewTimeout(hwt.TaskFunc(func(timeout hwt.Timeout) error {
			inside.Add(1)
			defer inside.Add(-1)
			return t.Run(timeout)
		}), delay)
	}
}

// kept holds an engine for longer than it should live.
var kept atomic.Pointer[broken]
