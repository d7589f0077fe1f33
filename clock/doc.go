// Package clock provides the timers, tickers and contexts of packages time and
// context on any timer of package hwt, and runs functions on schedules.
//
//	c, err := clock.New(timer, nil)
//	...
//	ctx, cancel := c.WithTimeout(parent, 2*time.Second) // was: context.WithTimeout
//	defer cancel()
//
// Use it in a program that holds very many deadlines at a time, most of which are
// cancelled before they expire, such as one with a deadline for each of its jobs.
// A program with a few thousand timers gains nothing, nor does a server of net/http:
// beside the cost of a request, that of its deadline is small.
//
// # Which timer
//
// The tick of the timer determines how late things happen: up to one tick, never
// early. Package hashedwheel with a tick of 10 ms suits request deadlines and
// tickers, package hierarchical schedules of days at a fine tick, and package
// runtimetimer uses for which a tick is too coarse.
//
// Expirations run where the timer runs its tasks, on the worker of a wheel. A timer
// or ticker only sends to a channel there, and user functions run on goroutines of
// their own unless [Options.FuncsOnTimer] is set. A context that ends cancels its
// children there, and first calls Err of its parent, which must not block if the
// parent is of a foreign type. If the timer's executor refuses a task, a goroutine
// runs it.
//
// The timer may wrap tasks and timeouts, as one that collects metrics does. Wrapped
// tasks must forward [hwt.RefusedTask], or what the executor refuses is lost. In a
// bubble of package testing/synctest, make both the timer and the clock inside it.
//
// A timer may refuse a timeout, because it was stopped or holds too many. Then a
// timer of Go's runtime replaces it, so that no deadline is lost, and the error
// handler is called.
//
// Stop the timer after everything that uses the clock. What its Stop returns are
// deadlines that will not expire, and tickers that will not tick. [Clock.End] ends
// them:
//
//	others := c.End(timer.Stop())
//
// # When package context is cheaper
//
// A context is cheap until something waits for it. WithTimeout and cancel allocate
// less than in package context, and neither registers with the parent nor depends
// on how many timeouts are pending. The first call of Done, which making a child
// includes, gives the context a Done channel, a list of children and a link to its
// parent: five allocations more, or seven if the parent can be cancelled. Then it
// costs more than in package context. Every select on Done waits, and so do calls
// of package database/sql and of the client of package net/http. If most contexts
// are waited for, use context.WithTimeout. A clock pays for deadlines that are
// seldom waited for, as in handlers that answer from memory or that call Err between
// the steps of their work.
//
// Tickers of one period share a timeout, so that a tick costs little more than
// sending to the channel and waking the receiver.
//
// To compare both with the standard library on your machine:
//
//	go test -run '^$' -bench . -benchtime 1x ./clock
//
// # Differences from packages time and context
//
//	time, context                        clock
//	late by what the runtime needs       up to one tick of the timer late; what is
//	                                     due at once, such as Reset(0), is not late,
//	                                     nor what Options.RuntimeBelow is for
//	len and cap of a timer's channel     the capacity is 1; Stop and Reset empty the
//	are 0                                channel, so no stale value is received
//	timers and tickers that are not      the hwt.Timer refers to them until they are
//	referred to are collected            stopped or, except tickers, fire
//	a panic in AfterFunc's function      it is reported: see Options.ErrorHandler,
//	ends the program                     and Options.PanicsEndProgram
//	AfterFunc(d, nil) panics when due    it panics at once
//	time.Timer, time.Ticker              types of this package, with the same methods
//	Err and Done of a context are        they call Err of the parent first, which may
//	atomic reads                         call that of its parent
//	cancel of a parent reaches the       Err, Cause and new calls of Done see it at
//	contexts below it before it returns  once. Done channels returned earlier, and
//	                                     children that package context made, with
//	                                     their Err, see it when a goroutine has run,
//	                                     soon after
//	the end of a parent releases the     it does if something waits for the context;
//	timer                                otherwise Err, Done, cancel or the deadline
//	                                     does
//	GODEBUG=asynctimerchan=1             no effect
package clock
