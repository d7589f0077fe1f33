package hwttest

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// fault is a fault of an engine, and the checks that detect it.
type fault struct {
	name     string
	inject   func(*broken)
	caughtBy []string
}

var faults = []fault{
	{"early by a nanosecond", delays(func(d time.Duration) time.Duration { return d - 1 }),
		[]string{"NeverEarlyAndWithinATick", "AnyTickDuration"}},
	{"early by rounding to ticks", delays(func(d time.Duration) time.Duration { return d / time.Millisecond * time.Millisecond }),
		[]string{"NeverEarlyAndWithinATick"}},
	// Early by more than the lateness of a loaded machine.
	{"immediate instead of delayed", delays(func(time.Duration) time.Duration { return 0 }),
		[]string{"NeverEarlyAndWithinATick", "NeverEarlyOnTheRealClock"}},
	{"late by a tick", delays(func(d time.Duration) time.Duration { return max(d, 0) + tick + 1 }),
		[]string{"NeverEarlyAndWithinATick", "ZeroDelayRunsAtTheNextOpportunity", "OnTimeAfterIdleHours"}},
	{"negative delays are lost", delays(func(d time.Duration) time.Duration {
		if d < 0 {
			return time.Hour
		}
		return d
	}), []string{"ZeroDelayRunsAtTheNextOpportunity"}},
	{"endless delays overflow", delays(func(d time.Duration) time.Duration {
		if d == math.MaxInt64 {
			return 0
		}
		return d
	}), []string{"EndlessDelayNeverExpires"}},
	{"lateness is not counted", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.Lateness = hwt.Histogram{} }
	}, []string{"LatenessMatchesTheTasks"}},
	{"lateness has a wrong sum", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.Lateness.Sum += 1 }
	}, []string{"LatenessMatchesTheTasks"}},
	{"resets are not counted", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.Resets = 0 }
	}, []string{"ResetsAreCounted"}},
	{"callers are not recorded", func(b *broken) { b.config.RecordCallers = false },
		[]string{"CallerIsTheFirstFrameOutside"}},
	{"callers are always recorded", func(b *broken) { b.config.RecordCallers = true },
		[]string{"CallerIsTheFirstFrameOutside"}},
	{"a caller is invented", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
			timeout, err := b.Timer.NewTimeout(task, delay)
			return calledTimeout{timeout}, err
		}
	}, []string{"CallerIsUnknownInsideATask"}},
	{"tasks are not labelled", func(b *broken) { b.config.LabelTasks = false },
		[]string{"ProfilesNameTheTask"}},
	{"tasks are always labelled", func(b *broken) { b.config.LabelTasks = true },
		[]string{"ProfilesNameTheTask"}},
	{"a rejected task still waits for the executor", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.ExecutorWaiting += s.ExecutorRejected }
	}, []string{"ExecutorRejectionIsReported"}},
	{"a failing Execute is not a rejection", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.ExecutorRejected -= min(s.ExecutorRejected, s.Failed+s.Panics) }
	}, []string{"ExecutorRejectionIsReported"}},
	{"deadlines are rounded", func(b *broken) {
		b.deadline = func(_ *broken, d time.Time, _ hwt.Timeout) time.Time { return d.Truncate(4) }
	}, []string{"DeadlineIsExactAndFollowsReset"}},
	{"deadlines drift", func(b *broken) {
		b.deadline = func(b *broken, d time.Time, _ hwt.Timeout) time.Time {
			b.calls++
			return d.Add(time.Duration(b.calls))
		}
	}, []string{"DeadlineOnTheRealClock"}},
	{"ended timeouts have no deadline", func(b *broken) {
		b.deadline = func(_ *broken, d time.Time, t hwt.Timeout) time.Time {
			if t.IsExpired() || t.IsCancelled() {
				return time.Time{}
			}
			return d
		}
	}, []string{"DeadlineStaysWhenTheTimeoutEnds"}},
	{"endless deadlines are finite", func(b *broken) {
		b.deadline = func(_ *broken, d time.Time, _ hwt.Timeout) time.Time {
			if d.IsZero() {
				return time.Now().Add(math.MaxInt64)
			}
			return d
		}
	}, []string{"DeadlineOfAnEndlessDelayIsZero"}},
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
	}, []string{"NilTaskIsRejected"}},
	{"timeouts know another timer", func(*broken) {}, []string{"TimeoutKnowsItsTimerAndTask"}},
	{"timeouts are wrapped for their caller", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			timeout, err := b.Timer.NewTimeout(task, d)
			return &brokenTimeout{timeout, b}, err
		}
	}, []string{"TaskReceivesItsCallersHandle"}},
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
	{"tasks hold up others forever", oneByOne, []string{"SlowTaskLeavesNoLag"}},
	{"bad tasks end the worker", mortal, []string{"BadTaskAffectsNoOther", "BadErrorHandlerAffectsNoOther", "BlockedTaskOnlyDelaysTimeouts"}},
	{"tasks cannot schedule", deafInside, []string{"EveryMethodWorksInsideATask", "TaskMayScheduleForNow"}},

	{"cancel lies", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return !t.IsExpired() && !t.IsCancelled() }
	}, []string{"CancelledNeverRuns", "CancelAgainstExpiryHasOneWinner", "CancelOfAnotherFromATaskHolds", "PendingFallsBeforeCancelReturns"}},
	{"cancel is true twice", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return t.Cancel() || t.IsCancelled() }
	}, []string{"CancelIsTrueOnce", "CancelDuringAMoveHolds", "EveryTimeoutEndsOnce", "EveryTimeoutEndsOnceUnderRaces"}},
	{"cancel is true after expiry", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return t.Cancel() || t.IsExpired() }
	}, []string{"CancelResetAndExpiryAreLinearizable", "CancelAgainstExpiryHasOneWinner", "CancelOfAnotherFromATaskHolds"}},
	{"cancel takes effect later", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool {
			time.AfterFunc(tick/2, func() { t.Cancel() })
			return !t.IsExpired()
		}
	}, []string{"CancelledNeverRuns", "PendingFallsBeforeCancelReturns", "CancelFreesAPlaceImmediately"}},

	{"reset does nothing", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, _ time.Duration) bool { return !t.IsExpired() && !t.IsCancelled() }
	}, []string{"ResetMovesTheDeadline", "ResetAcrossAnyDistance", "ResetToNeverAndBack", "ResetFromOtherTasks", "ResetDuringAMoveHolds", "ResetAgainstExpiryRunsOnceAndOnTime", "ResetAgainstExpiryOnTheRealClock"}},
	{"reset only to later", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, d time.Duration) bool { return t.Reset(max(d, 3*tick)) }
	}, []string{"ResetMovesTheDeadline"}},
	{"reset always says true", func(b *broken) {
		b.reset = func(_ *broken, t hwt.Timeout, d time.Duration) bool { t.Reset(d); return true }
	}, []string{"ResetNeverRevives", "ResetAgainstExpiryRunsOnceAndOnTime", "CancelResetAndExpiryAreLinearizable"}},
	{"reset makes another timeout", func(b *broken) {
		b.reset = func(b *broken, t hwt.Timeout, d time.Duration) bool {
			_, err := b.Timer.NewTimeout(t.Task(), d)
			return err == nil
		}
	}, []string{"ResetNeverRevives", "ResetMovesTheDeadline"}},

	{"stop loses one", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			if all := b.Timer.Stop(); len(all) > 0 {
				return all[1:]
			}
			return nil
		}
	}, []string{"StopReturnsThePendingTimeouts", "EveryTimeoutEndsOnce", "NewTimeoutAgainstStopLosesNoTimeout", "StopFromManyGoroutines", "StopAgainstExpiryLosesNoTimeout", "StopDuringAMoveReturnsAll", "EveryTimeoutEndsOnceUnderRaces", "StopInABubbleDoesNotWaitForATaskOutside"}},
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
	}, []string{"StopReturnsThePendingTimeouts", "EveryTimeoutEndsOnce", "StopFromInsideATask", "MadeInABubbleStopsOutside", "CancelAndStopWorkInABubble"}},
	{"stop stops nothing", func(b *broken) { b.stop = func(*broken) []hwt.Timeout { return nil } },
		[]string{"StopRejectsNewTimeouts", "NoTaskBeginsAfterStop", "StopWaitsForARunningTask", "StopWaitsForARunningCallback", "TaskThatSchedulesItselfForeverEndsWithStop", "StartMayBeCalledAnyTime"}},
	{"stop waits too long", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			time.Sleep(20 * time.Second)
			return b.Timer.Stop()
		}
	}, []string{"StopDoesNotWaitForever", "IdleTimerDoesNotWake"}},

	{"all misses one", func(b *broken) {
		b.all = func(_ *broken, all iter.Seq[hwt.Timeout], yield func(hwt.Timeout) bool) {
			first := true
			for t := range all {
				if !first && !yield(t) {
					return
				}
				first = false
			}
		}
	}, []string{"AllYieldsThePendingTimeouts", "AllYieldsEachOnceWhileTimeoutsMove", "AllYieldsTimeoutsThatBecomeDueMeanwhile", "AllMayBeUsedInsideATask", "AllMayBeNestedAndLeft", "AllAgainstRaces"}},
	{"all yields one twice", func(b *broken) {
		b.all = func(_ *broken, all iter.Seq[hwt.Timeout], yield func(hwt.Timeout) bool) {
			var last hwt.Timeout
			for t := range all {
				if last = t; !yield(t) {
					return
				}
			}
			if last != nil {
				yield(last)
			}
		}
	}, []string{"AllYieldsThePendingTimeouts", "AllYieldsEachOnceWhileTimeoutsMove", "AllYieldsTimeoutsThatBecomeDueMeanwhile", "AllMayBeNestedAndLeft", "AllAgainstRaces", "AllYieldsABacklog"}},
	{"shutdown does not wait", func(b *broken) {
		b.shutdown = func(b *broken, _ context.Context) ([]hwt.Timeout, error) {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			unprocessed, _ := b.Timer.Shutdown(over)
			return unprocessed, nil
		}
	}, []string{"ShutdownWaitsForTaskAndCallback", "ShutdownWaitsForTheExecutor", "ShutdownGivesUpWithItsContext", "ShutdownCountsQueuedTasks", "ShutdownWaitsAfterAStopThatGaveUp", "ShutdownFromInsideATaskOnAnExecutor", "ShutdownDoesNotWaitForRejectedTasks", "NoTaskRunsAfterShutdown", "ContextEndsWhenShutdownGivesUp"}},
	{"shutdown is too patient", func(b *broken) {
		b.shutdown = func(b *broken, _ context.Context) ([]hwt.Timeout, error) {
			defer time.Sleep(time.Minute)
			return b.Timer.Shutdown(context.Background())
		}
	}, []string{"ShutdownReturnsThePendingTimeouts", "ShutdownGivesUpWithItsContext", "ShutdownFromInsideATask", "ShutdownFromInsideARejection", "ShutdownDoesNotWaitForRejectedTasks", "ShutdownWaitsForTheExecutor"}},
	{"shutdown loses one", func(b *broken) {
		b.shutdown = func(b *broken, ctx context.Context) ([]hwt.Timeout, error) {
			all, err := b.Timer.Shutdown(ctx)
			return all[:max(len(all)-1, 0)], err
		}
	}, []string{"ShutdownReturnsThePendingTimeouts", "ShutdownFromManyGoroutines", "ShutdownGivesUpWithItsContext"}},
	{"contexts end too late", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask {
			if f, ok := task.(hwt.ContextTaskFunc); ok && f != nil {
				return hwt.TaskFunc(func(t hwt.Timeout) error { return f(context.Background(), t) })
			}
			return task
		}
	}, []string{"ContextEndsWhenShutdownGivesUp", "ContextEndsWhenStopGivesUp"}},
	{"a batch is scheduled one by one", func(b *broken) { b.batch = oneByOneBatch },
		[]string{"BatchIsRejectedAsAWhole", "BatchAgainstStopIsAllOrNone"}},
	{"a batch is late", func(b *broken) {
		b.batch = func(b *broken, tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
			return b.Timer.NewTimeouts(tasks, max(delay, 0)+2*tick)
		}
	}, []string{"BatchIsNewTimeoutForEachTask", "BatchWakesASleepingTimer"}},
	{"one of a batch is for another task", func(b *broken) {
		b.batch = func(b *broken, tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
			timeouts, err := b.Timer.NewTimeouts(tasks, delay)
			if len(timeouts) > 1 {
				timeouts[0] = timeouts[1]
			}
			return timeouts, err
		}
	}, []string{"BatchIsNewTimeoutForEachTask", "BatchMayBeCancelledAndReset", "BatchesKeepThePendingLimit"}},
	{"all copies", func(b *broken) {
		b.all = func(_ *broken, all iter.Seq[hwt.Timeout], yield func(hwt.Timeout) bool) {
			for _, t := range slices.Collect(all) {
				if !yield(t) {
					return
				}
			}
		}
	}, []string{"AllTakesConstantMemory"}},
	{"all holds a lock", func(b *broken) {
		lock := make(chan struct{}, 1)
		b.task = func(_ *broken, t hwt.TimerTask) hwt.TimerTask {
			return hwt.TaskFunc(func(timeout hwt.Timeout) error {
				lock <- struct{}{}
				defer func() { <-lock }()
				return t.Run(timeout)
			})
		}
		b.all = func(_ *broken, all iter.Seq[hwt.Timeout], yield func(hwt.Timeout) bool) {
			lock <- struct{}{}
			defer func() { <-lock }()
			all(yield)
		}
	}, []string{"AllBlocksNoOtherCall"}},

	{"errors are not reported", func(b *broken) { b.config.ErrorHandler = func(hwt.Timeout, error) {} },
		[]string{"BadTaskAffectsNoOther", "ExecutorRejectionIsReported", "BadCancelledAffectsNoOther"}},
	{"the log is not written", func(b *broken) { b.config.ErrorHandler = func(hwt.Timeout, error) {} },
		[]string{"BadTaskIsLoggedByDefault"}},
	{"tasks do not learn of rejections", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask { return struct{ hwt.TimerTask }{task} }
	}, []string{"ExecutorRejectionGoesToARejectedTask"}},
	{"the executor of a task is not used", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
			if t, ok := task.(interface {
				OnExecutor() (hwt.Executor, hwt.TimerTask)
			}); ok {
				_, task = t.OnExecutor()
			}
			return b.Timer.NewTimeout(task, delay)
		}
	}, []string{"OnExecutorRunsTheTaskThere", "OnExecutorRejectionGoesToTheTask", "ShutdownWaitsForATaskOfOnExecutor"}},
	{"the executor is not used", func(b *broken) { b.config.Executor = nil },
		[]string{"ExecutorRunsEveryTask", "ExecutorMayRunLater", "ExecutorThatBlocksDelaysTimeouts", "CancelledRunsOnTheExecutor"}},

	{"cancelled is never notified", func(b *broken) {
		b.task = func(_ *broken, task hwt.TimerTask) hwt.TimerTask { return unnotified{task} }
	}, []string{"CancelledIsCalledOnceAndSoon", "CancelledIsCalledIfStopFollows", "CancelledSeesTheEndedTimeout", "CancelledMayUseTheTimer"}},
	{"cancelled is notified twice", func(b *broken) {
		b.task = wrapped(func(t hwt.CancelledTask) notifiedTwice { return notifiedTwice{t} })
	}, []string{"CancelledIsCalledOnceAndSoon"}},
	{"cancelled is notified late", func(b *broken) {
		b.task = wrapped(func(t hwt.CancelledTask) notifiedLate { return notifiedLate{t} })
	}, []string{"CancelledIsCalledOnceAndSoon"}},
	{"stop notifies cancelled", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			all := b.Timer.Stop()
			for _, t := range all {
				if notified, ok := t.Task().(hwt.CancelledTask); ok {
					notified.Cancelled(t)
				}
			}
			return all
		}
	}, []string{"CancelledIsCalledOnlyAfterCancel"}},

	{"one too many is allowed", func(b *broken) { b.config.MaxPendingTimeouts++ },
		[]string{"ExactlyTheMaximumIsAllowed", "CancelFreesAPlaceImmediately", "ExpiryFreesAPlaceForItsTask", "MaximumHoldsAgainstRaces"}},
	{"no maximum means a thousand", func(b *broken) {
		if b.config.MaxPendingTimeouts == 0 {
			b.config.MaxPendingTimeouts = 1000
		}
	}, []string{"StopReturnsThePendingTimeouts"}},
	{"places are lost", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			if b.calls++; b.calls%100 == 0 {
				_, _ = b.Timer.NewTimeout(nothing, 1000*time.Hour)
			}
			return b.Timer.NewTimeout(task, d)
		}
	}, []string{"ExactlyTheMaximumIsAllowed"}},
	{"one in a hundred never runs", func(b *broken) {
		b.delay = func(d time.Duration) time.Duration {
			if b.calls++; b.calls%100 == 0 {
				return 1000 * time.Hour
			}
			return d
		}
	}, []string{"NeverEarlyOnTheRealClock"}},
	{"pending falls too late", func(b *broken) { b.pending = func(n int64) int64 { return n + 1 } },
		[]string{"ExpiredBeforeTheTaskRuns", "PendingFallsBeforeCancelReturns"}},
	{"resets are counted", func(b *broken) {
		b.reset = func(b *broken, t hwt.Timeout, d time.Duration) bool {
			if other, err := b.Timer.NewTimeout(nothing, d); err == nil {
				other.Cancel()
			}
			return t.Reset(d)
		}
		b.config.MaxPendingTimeouts = 0
	}, []string{"ResetChangesNoCount"}},
	{"pending goes below zero", func(b *broken) { b.pending = func(n int64) int64 { return n - 1 } },
		[]string{"EveryTimeoutEndsOnceUnderRaces", "EveryTimeoutEndsOnce", "ExecutorThatCallsTwiceRunsATaskOnce"}},

	{"tasks are kept", func(b *broken) {
		b.task = func(b *broken, task hwt.TimerTask) hwt.TimerTask {
			b.kept = append(b.kept, task)
			return task
		}
	}, []string{"CancelledTimeoutsAreBoundedByTheMaximum", "CancelledTaskIsCollectable", "CancelledTaskIsCollectableAmongPendingOnes", "ResetAndCancelledTaskIsCollectable", "ExpiredTaskIsCollectable", "StoppedTaskIsCollectable"}},
	{"engines are kept", func(b *broken) { kept.Store(b) }, []string{"AbandonedTimerIsCollectable"}},
	{"idle engines wake up", func(b *broken) {
		begin := time.Now()
		b.stats = func(s *hwt.Stats) { s.Wakeups = int64(time.Since(begin) / tick) }
	}, []string{"IdleTimerDoesNotWake"}},
	{"timeouts of another bubble are lost", func(b *broken) {
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (timeout hwt.Timeout, err error) {
			defer func() { _ = recover() }()
			return b.Timer.NewTimeout(task, d)
		}
	}, []string{"MadeOutsidePanicsInABubble", "MadeInABubblePanicsOutside"}},
	{"stop outside its bubble stops nothing", func(b *broken) {
		b.stop = func(b *broken) []hwt.Timeout {
			defer func() { _ = recover() }()
			return b.Timer.Stop()
		}
	}, []string{"MadeInABubblePanicsOutside"}},
	{"shutdown outside its bubble stops nothing", func(b *broken) {
		b.shutdown = func(b *broken, ctx context.Context) ([]hwt.Timeout, error) {
			defer func() { _ = recover() }()
			return b.Timer.Shutdown(ctx)
		}
	}, []string{"MadeInABubblePanicsOutside"}},
	{"cancel fails in another bubble", func(b *broken) {
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return !enginekit.InBubble() && t.Cancel() }
	}, []string{"CancelAndStopWorkInABubble"}},
	{"events fire twice", eventTasks(func(task hwt.TimerTask, timeout hwt.Timeout) error {
		_ = task.Run(timeout)
		return task.Run(timeout)
	}), []string{"EventsAgreeWithAModel"}},
	{"the task of an event receives another timeout", eventTasks(func(task hwt.TimerTask, timeout hwt.Timeout) error {
		return task.Run(struct{ hwt.Timeout }{timeout})
	}), []string{"EventIsTheTimeoutOfItsTask"}},
	{"an event is moved nowhere", func(b *broken) {
		b.initEvent = ordinaryEvents
		b.reset = func(_ *broken, t hwt.Timeout, _ time.Duration) bool { return !t.IsExpired() && !t.IsCancelled() }
	}, []string{"EventsAgreeWithAModel"}},
	{"an event is armed once", func(b *broken) {
		b.initEvent = ordinaryEvents
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			if b.calls++; b.calls > 1 {
				return nil, hwt.ErrStopped
			}
			return b.Timer.NewTimeout(task, d)
		}
	}, []string{"EventArmsItself"}},
	{"an event is cancelled twice", func(b *broken) {
		b.initEvent = ordinaryEvents
		b.cancel = func(_ *broken, t hwt.Timeout) bool { return t.Cancel() || t.IsCancelled() }
	}, []string{"EventsAgreeWithAModel", "EventIsLinearizable"}},
	{"cancelled events are not counted", func(b *broken) {
		b.stats = func(s *hwt.Stats) { s.Accepted, s.Cancelled = s.Accepted-s.Cancelled, 0 }
	}, []string{"EventsAgreeWithAModel"}},
	{"an event is notified", func(b *broken) {
		b.initEvent = func(b *broken, e *hwt.Event, task hwt.TimerTask) error {
			b.kept = append(b.kept, task)
			return ordinaryEvents(b, e, task)
		}
		b.cancel = func(b *broken, t hwt.Timeout) bool {
			for _, task := range b.kept {
				task.(hwt.CancelledTask).Cancelled(t)
			}
			return t.Cancel()
		}
	}, []string{"EventsAgreeWithAModel"}},
	{"an event is initialized twice", func(b *broken) {
		b.initEvent = func(b *broken, e *hwt.Event, task hwt.TimerTask) error {
			if err := b.Timer.InitEvent(e, task); err != hwt.ErrEventInitialized {
				return err
			}
			return nil
		}
	}, []string{"EventRejectsWrongUse"}},
	{"events are not limited", func(b *broken) { b.config.MaxPendingTimeouts = 0 }, []string{"EventsKeepTheMaximum"}},
	{"an event is armed after Stop", func(b *broken) {
		b.initEvent = ordinaryEvents
		b.newTimeout = func(b *broken, task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
			if timeout, err := b.Timer.NewTimeout(task, d); err != hwt.ErrStopped {
				return timeout, err
			}
			return deadTimeout{}, nil
		}
	}, []string{"EventArmFailsAfterStop"}},
	{"events are shown as other timeouts", func(b *broken) { b.initEvent = ordinaryEvents }, []string{"AllAndStopShowEvents"}},
}

// deadTimeout is a timeout that does nothing.
type deadTimeout struct{ hwt.Timeout }

func (deadTimeout) Cancel() bool             { return false }
func (deadTimeout) Reset(time.Duration) bool { return false }
func (deadTimeout) IsCancelled() bool        { return false }

// eventTasks returns a fault that runs the tasks of events by run.
func eventTasks(run func(hwt.TimerTask, hwt.Timeout) error) func(*broken) {
	return func(b *broken) {
		b.initEvent = func(b *broken, e *hwt.Event, task hwt.TimerTask) error {
			return b.Timer.InitEvent(e, hwt.TaskFunc(func(timeout hwt.Timeout) error { return run(task, timeout) }))
		}
	}
}
