// Package clock provides the timers, tickers and contexts of packages time and
// context on any timer of package hwt, and runs functions on schedules.
//
//	c, err := clock.New(timer, nil)
//	...
//	ctx, cancel := c.WithTimeout(parent, 2*time.Second) // was: context.WithTimeout
//	defer cancel()
//
// Use clock in a program that holds very many deadlines, most of them cancelled before the
// expiry, such as one with a deadline for each job. A program with a few thousand timers
// gains nothing, and a server of net/http gains nothing either: compared with a request, a
// deadline is cheap.
//
// # Schedules
//
// [Clock.ScheduleFunc] and [Clock.ScheduleContext] run a function at the times of a
// [Schedule]: a [Spec], which is a cron expression with a time zone, [FixedRate],
// [FixedDelay], or a type of the user. A [Job] can be found by name, paused, resumed
// and run on request. Options decide about runs that overlap and runs that were missed.
//
// # Which timer
//
// Everything happens up to one tick of the timer late and never early. A tick of 10 ms
// suits request deadlines and tickers. Package hwt lists the engines.
//
// Expirations run where the timer runs its tasks: on the worker of a wheel. There, a timer or
// ticker only sends on a channel, and a context calls the parent's Err and then cancels the
// children. The Err of a parent of another package must not block. Functions of the user run on
// new goroutines unless [Options.FuncsOnTimer] is set. If the timer's executor rejects a task,
// a new goroutine runs it.
//
// The timer may wrap tasks and timeouts, for example to collect metrics. Wrapped tasks
// must forward [hwt.RejectedTask], or tasks that the executor rejects are lost. In a
// bubble of package testing/synctest, create both the timer and the clock inside it.
//
// If the timer rejects a timeout, because the timer is stopped or at its pending limit, a
// runtime timer replaces the timeout, so no deadline is lost. The error handler is called.
//
// Stop the timer after everything that uses the clock. The timer's Stop returns deadlines
// that will not expire, and tickers that will not tick. [Clock.End] ends both:
//
//	others := c.End(timer.Stop())
//
// # When package context is cheaper
//
// A context of a clock is cheap until something waits for its end. WithTimeout and cancel
// allocate less than in package context, do not register with the parent, and cost the same
// for any number of pending timeouts. The first call of Done creates a Done channel, a list
// of children, and a link to the parent. A new child calls Done, too. Done takes five more
// allocations, or seven if the parent can be cancelled, and the context then costs more than
// one of package context. A select on Done, package database/sql, and the client of package
// net/http all call Done. Use a clock for deadlines that are seldom waited for, as in
// handlers that answer from memory or check Err between steps. Otherwise use
// context.WithTimeout.
//
// Tickers of one period share a timeout. A tick costs little more than sending to the
// channel and waking the receiver.
//
// To compare contexts with those of the standard library on your machine:
//
//	go -C bench run ./programs -quick
//
// # Differences from packages time and context
//
//	time, context                        clock
//	lateness depends on the runtime      up to one tick of the timer; none if the delay
//	                                     is 0 or below Options.RuntimeBelow
//	len and cap of a timer's channel     the capacity is 1; Stop and Reset empty the
//	are 0                                channel, so no stale value is received
//	timers and tickers that are not      the hwt.Timer refers to them until they are
//	referred to are collected            stopped or, except tickers, fire
//	a panic in AfterFunc's function      it is reported: see Options.ErrorHandler,
//	ends the program                     and Options.PanicsEndProgram
//	AfterFunc(d, nil) panics when it     it panics in the call
//	fires
//	time.Timer, time.Ticker              types of this package, with the same methods
//	Err and Done of a context are        they call Err of the parent first, which may
//	atomic reads                         call that of its parent
//	cancel of a parent reaches the       Err, Cause and new calls of Done see it
//	contexts below it before it returns  immediately. Done channels returned earlier,
//	                                     and children that package context made, with
//	                                     their Err, see it when a goroutine has run,
//	                                     soon after
//	the end of a parent releases the     only if Done was called or a child exists.
//	context's timer                      Otherwise the timer is released by the next
//	                                     Err, Done or cancel, or at the deadline
//	GODEBUG=asynctimerchan=1             no effect
package clock
