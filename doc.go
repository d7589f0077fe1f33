// Package hwt defines timers for programs that hold very many timeouts, most of
// which are cancelled or reset before they expire: request deadlines, idle
// connections, cache entries, delayed jobs.
//
//	timer, err := hashedwheel.New(nil)
//	...
//	timeout, err := timer.AfterFunc(30*time.Second, func() { giveUp(request) })
//	...
//	timeout.Cancel() // the answer came
//
// A program usually creates one timer and shares it. This package defines only the
// contract, which three engines implement:
//
//   - Package hashedwheel, after Netty's HashedWheelTimer, is a single wheel. Start
//     with it. Its tick is 100 ms by default.
//   - Package hierarchical, after Kafka's timing wheels, is for delays from
//     milliseconds to weeks at a fine tick, 1 ms by default.
//   - Package runtimetimer, on Go's own timers, is for tasks that block. The
//     other engines run such tasks on an [Executor], for example a [Pool].
//
// docs/engines.md in the repository compares them.
//
// Packages keyed, cache, clock and idle work with any of them. Package hwttest checks
// an engine, or a wrapper of one, against the promises below.
//
// Create timers with New; the methods of an engine's zero Timer panic. All methods of
// timers and timeouts are safe for concurrent use, including in tasks.
//
// # Promises
//
// Every engine keeps these promises and passes the same tests.
//
//  1. Never early. A task never runs before its deadline: the monotonic time of the call plus
//     the delay.
//  2. On time. A task starts at its deadline if few timeouts are due in the same
//     tick, or if the engine has no ticks, and otherwise no later than one tick after
//     it, plus the time that the operating system and the tasks ahead of it need. Delays are measured by the monotonic clock:
//     setting the wall clock does not move them, and on Linux it stops while the
//     machine sleeps. Package clock can count that time.
//  3. One end. Each accepted timeout ends exactly once, in one of three ways: it
//     expires and its task runs, Cancel returns true, or Stop returns it.
//  4. Linearizable. Cancel and Reset are linearizable against expiry. Both return
//     false once the timeout has ended, and Reset never revives it.
//  5. Orderly stop. Stop rejects new timeouts, returns the pending ones, and waits
//     for the tasks that run on the timer's goroutines. It may be called from within
//     a task, and never deadlocks: it waits no longer than the engine's StopTimeout,
//     and not at all in a synctest bubble if the timer was made outside it. Tasks
//     queued in an executor may still start after Stop.
//  6. Isolation. A task that panics, returns an error or ends its goroutine is
//     reported and affects no other timeout.
//  7. Nothing lingers. If the worker keeps up, a timer releases a cancelled timeout within two
//     ticks, or immediately on an engine without ticks. After a Stop that waited, the timer has
//     no goroutines, except for tasks that outlast StopTimeout. Stop does not wait if it is
//     called from a task on the timer's own goroutine, if StopTimeout is negative, or in a
//     synctest bubble if the timer was made outside it. An idle timer does not wake at empty
//     ticks.
//  8. Fake time. All waits are durably blocking in the sense of testing/synctest, so
//     a timer that was made in a bubble runs hours there in milliseconds.
//  9. Order. Timeouts that expire in the same tick run in an unspecified order. In
//     practice it is close to the order of submission.
//  10. Any delay. A delay of zero or less expires at the next opportunity. A
//     deadline past the range of the clock is never reached.
//
// # Options
//
// In all packages of this module, the zero value of an option is the default. New returns an
// error for a value out of range, and never replaces the value. A negative value is an error,
// except that it turns off SlowTaskThreshold and the wait of StopTimeout, which are on by
// default.
//
// A failure that no caller can receive, such as the panic of a function, goes to the
// ErrorHandler of the package that called the function. If ErrorHandler is nil, the failure is
// logged by Logger with the Name of the timer, wheel, clock, reaper, or cache. Package cache has
// no ErrorHandler, and always logs. An ErrorHandler may be called concurrently and should not
// block.
//
// # Logs and profiles
//
// The engines log through the Logger of their Options. Each record has the attribute
// timer, and some of the others:
//
//   - timer: the timer's name
//   - task: the type of a task, or the name and source line of a function
//   - error: a task's error, or a *[PanicError]
//   - stack: the stack of a panic
//   - held: the time for which a slow task has blocked the worker
//   - threshold: the time from which a task is slow
//   - starved: the part of held during which the process was not scheduled. If it is
//     large, the task itself may be fast
//   - waited: the time that Stop waited
//   - running: the number of tasks that still run
//   - live: the number of timers in the program
//
// In profiles, a worker goroutine has the pprof label hwt, the timer's name. With
// Options.LabelTasks, a goroutine that runs a task also has the label hwt_task, with
// the task's name in the log:
//
//	go tool pprof -tagfocus=hwt_task=check profile
//
// [Stats] holds a timer's counts and lateness. With Options.RecordCallers,
// [CallerOf] returns the line that scheduled a timeout.
//
// # Testing
//
// To test code that uses a timer, run it in a testing/synctest bubble, where hours pass
// in an instant. Create and stop the timer inside the bubble: the bubble waits for the
// timer's goroutine, and the first Stop panics outside the bubble:
//
//	synctest.Test(t, func(t *testing.T) {
//		timer, err := hashedwheel.New(nil)
//		...
//		defer timer.Stop()
//		...
//		time.Sleep(time.Hour)
//		synctest.Wait() // tasks that were due have run
//	})
//
// A tick is part of fake time: if many timeouts are due in one tick, a task may run up to
// one tick after its deadline.
//
// A timer made outside the bubble runs on another clock. In the bubble, the timer's NewTimeout
// and Reset panic, because the timeouts would be lost; Cancel and Stop work. The timer
// recognizes the bubble by the bubble's clock. A bubble's clock starts in the year 2000: there
// is no panic in a bubble that slept until the present. Code that is tested in a bubble should
// take its timer as an argument. Tests on the real clock may use any timer.
//
// A worker goroutine ends 50 ms after the last timeout, so leak checkers such as goleak do not
// report the goroutine. They do report the worker of a timer that has pending timeouts or on
// which Start was called. Exclude that goroutine by the stable name of the function:
//
//	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
//		"github.com/hashedwheel/hwt/internal/engine.runWorker"))
package hwt
