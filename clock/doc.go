// Package clock gives the shapes of packages time and context on any timer of
// package hwt: AfterFunc, NewTimer, NewTicker, After, Sleep and Tick, contexts
// with deadlines, and functions that run on schedules.
//
//	c := clock.New(timer)
//	...
//	ctx, cancel := c.WithTimeout(r.Context(), 2*time.Second) // was: context.WithTimeout
//	defer cancel()
//
// It is for programs that hold very many of these at a time, most of which end
// before they come due. A request deadline that nobody waits for costs less than
// with package context, one that somebody waits for costs more; neither costs the
// more the more there are. A program with a few thousand has nothing to gain.
//
// # Which timer
//
// The timer's tick decides how late things are: up to a tick, never early. A
// wheel of package hashedwheel with a tick of 10 ms suits request deadlines and
// tickers; see package hierarchical for schedules of days at a fine tick, and
// package runtimetimer where a tick is too coarse. An executor of the timer's
// must not refuse tasks: whatever it refuses never fires, and with one ticker all
// those of its period.
//
// What comes due is seen to where the timer runs its tasks: on the worker of a
// wheel. A send takes nanoseconds there; a context that ends cancels its children
// there, and asks its parent's Err first, which must not block if the parent is of
// somebody else's kind.
//
// Stop the timer last. What it then returns is deadlines that will not come; who
// wants these at once can run their tasks: timeout.Task().Run(timeout).
//
// Package time and package context cannot say no, but a timer can: it may have a
// limit of pending timeouts, or be stopped. Then one of Go's own timers stands in,
// and the error handler is told. No deadline is lost.
//
// # What it costs
//
// As measured on two cores with a wheel of 10 ms, process CPU, against the
// standard library in the same run
// (go test -run '^$' -bench . -benchtime 1x ./clock):
//
//	WithTimeout and cancel, nothing else live      0.6 to 0.8 times, 192 bytes against 272
//	the same with 1,000,000 live                   0.5 to 0.6 times
//	the same, under a parent that can be cancelled 0.4 to 0.6 times
//	the same, and Done is called                   1.3 to 1.6 times, 600 bytes against 384
//	a tick of one of 30,000 tickers, and its read  0.6 to 0.7 times
//	the same with 100,000                          0.7 times
//
// Tickers of one period share one timeout. Of what a tick then takes, 0.6 times is
// what it takes anybody to send to a channel and wake the reader.
//
// # When package context is cheaper
//
// A context is cheap until somebody waits for it, by the first call of Done or the
// first child. That takes a context of package context's inside, so that children
// are its children, need no goroutine and are cancelled at once, and a link to the
// parent: five allocations, or seven if the parent can be cancelled. Every select
// on Done waits, and so do the calls of package database/sql and the client of
// package net/http. If most of the contexts are waited for, context.WithTimeout is
// the cheaper one: use it. What gains are deadlines that are seldom waited for: of
// handlers that answer from memory, or that ask Err between the steps of their
// work.
//
// # Differences from packages time and context
//
//	time, context                              clock
//	on time, to what the runtime can do        up to a tick of the timer late
//	len and cap of a timer's channel are 0     cap is 1, len tells what waits; Stop
//	                                           and Reset take it out, so nothing stale
//	                                           is received all the same
//	timers and tickers that nobody refers to   the timer holds them until they are
//	are collected                              stopped or, but for tickers, fire
//	f of AfterFunc that panics ends the        it is reported, see WithErrorHandler
//	program
//	AfterFunc(d, nil) panics when due          panics at once
//	time.Timer and time.Ticker                 types of their own, same methods
//	a parent's cancel reaches a context        Err, Cause and calls of Done tell at
//	before it returns                          once; a Done channel that somebody holds
//	                                           is closed on a goroutine, soon after
//	the parent's end releases the timer        if somebody waits, or asks Err; else
//	                                           cancel or the deadline does
//	Err and Done of contexts are atomic reads  they ask the parent's Err first, which
//	                                           may ask its parent's
//	GODEBUG asynctimerchan                     of no effect
package clock
