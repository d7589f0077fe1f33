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
// A program usually makes one timer and shares it. This package holds the contract
// only. Three engines implement it:
//
//   - package hashedwheel, after Netty's HashedWheelTimer, is one wheel. Start with
//     it.
//   - package hierarchical, after Kafka's timing wheels, suits delays from
//     milliseconds to months at a fine tick.
//   - package runtimetimer, on Go's own timers, suits few or very precise timeouts.
//
// Packages keyed, cache, clock and idle work with any of them.
//
// # Promises
//
// Every engine keeps these promises and passes the same tests.
//
//  1. Never early. A task never runs before its deadline, which is the monotonic
//     time of the call plus the delay.
//  2. On time. A task starts no later than one tick after its deadline, or at its
//     deadline on an engine without ticks, plus what the operating system and the
//     tasks ahead of it take.
//  3. One end. Each accepted timeout ends once: it expires and its task runs once,
//     or Cancel returns true once, or Stop returns it.
//  4. Linearizable. Cancel and Reset are linearizable against expiry. Both return
//     false once the timeout has ended, and Reset never revives it.
//  5. Orderly stop. Stop refuses new timeouts, returns the pending ones, and waits
//     for the tasks that run on the timer's goroutines. It may be called from
//     anywhere, including from within a task, and never deadlocks: it waits no
//     longer than the engine's StopTimeout, and not at all in a synctest bubble if
//     the timer was made outside it. What an executor has queued may begin after
//     Stop.
//  6. Isolation. A task that panics, returns an error or ends its goroutine is
//     reported and affects no other timeout.
//  7. Nothing lingers. While its worker keeps up, a timer drops a cancelled timeout
//     within two ticks, or at once on an engine without ticks. When Stop has
//     waited, no goroutine of the timer is left, except one whose task outlasts
//     StopTimeout. Stop does not wait when called from a task, with a negative
//     StopTimeout, or in a synctest bubble for a timer made outside it. A timer
//     sleeps while nothing is due.
//  8. Fake time. All waits are durably blocking in the sense of testing/synctest, so
//     a timer that was made in a bubble runs hours there in milliseconds.
//  9. Order. Timeouts that are due in the same tick run in no promised order, in
//     practice near the order of submission.
//  10. Any delay. A delay of zero or less expires at the next opportunity. A
//     deadline past the range of the clock never comes.
//
// # Logs and profiles
//
// The engines log through the Logger of their Options. Each record has the attribute
// timer, and of the others those that apply:
//
//   - timer: the timer's name
//   - task: a task, by its type, or a function by its name and where it is
//   - error: what a task returned, or a *[PanicError]
//   - stack: the stack of a panic
//   - held: how long a slow task has held the worker
//   - threshold: how long a task may hold the worker before it is slow
//   - waited: how long Stop waited
//   - running: how many tasks still run
//   - live: how many timers there are
//   - asked: the tick that was asked for
//   - tick: the tick used instead
//
// In profiles, a worker goroutine has the pprof label hwt, the timer's name. With
// Options.LabelTasks, a goroutine that runs a task also has the label hwt_task, the
// task as in the log:
//
//	go tool pprof -tagfocus=hwt_task=check profile
//
// [Stats] has a timer's counts and lateness. With Options.RecordCallers, [CallerOf]
// returns where a timeout was scheduled.
//
// # Testing
//
// Code that uses a timer is best tested in a bubble of package testing/synctest,
// where hours pass at once. Make the timer in the bubble, and stop it there, since
// the bubble waits for the timer's goroutine:
//
//	synctest.Test(t, func(t *testing.T) {
//		timer, err := hashedwheel.New(nil)
//		...
//		defer timer.Stop()
//		...
//		time.Sleep(time.Hour)
//		synctest.Wait() // what was due has run
//	})
//
// A tick is part of fake time: a task may run up to one tick after its deadline.
//
// A timer of the whole program, made outside the bubble, runs on another clock.
// There NewTimeout and Reset panic, where their timeouts would be lost; Cancel and
// Stop work. So let code that is tested in a bubble take its timer as an argument.
// In tests on the real clock a timer of the whole program works as usual.
//
// A timer that lives as long as the program leaves its worker goroutine to leak
// checkers such as goleak. Name the goroutine's function, which does not change:
//
//	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
//		"github.com/hashedwheel/hwt/internal/engine.runWorker"))
package hwt
