// Package dropin has two packages that stand in for packages time and context by a
// change of the import line alone:
//
//	import "github.com/hashedwheel/hwt/dropin/time"    // was: "time"
//	import "github.com/hashedwheel/hwt/dropin/context" // was: "context"
//
// They have every exported name of the standard packages. Timers, tickers, sleeps
// and deadlines are on one wheel for the whole program, which is made when it is
// first needed: package hierarchical with a tick of 1 ms, unless [Use] set another
// before. All else is that of the standard library: a Time, a Duration or a Context
// is the same type here and there.
//
// Use them to find out what a wheel would change in a program that exists, or to
// move one that holds very many timers without touching its code. Package clock
// gives the same to new code, without a timer for the whole program. Where few
// timers are pending at a time, there is nothing to gain.
//
// # What is on the wheel
//
// A delay of two ticks or more. Shorter ones are on timers of Go's runtime, where
// they are not late by a tick. In a testing/synctest bubble, which shows in a
// [time.Now] without monotonic reading, everything is on package time and package
// context, so that tests in bubbles pass as before.
//
// A panic in a function of AfterFunc ends the program, as it does in package time.
//
// # What differs
//
//   - Timers and deadlines are up to one tick late. See package clock for the
//     other differences in what its timers and contexts do.
//   - Timer and Ticker are types of their own. A *Timer does not pass to packages
//     that use package time, such as in a field of their structs, or back.
//   - A Timer that is not stopped stays in memory until it fires, and a Ticker for
//     good.
//   - Local is a copy of the variable time.Local. What sets the one does not change
//     the other. The same is true of UTC, and of Canceled and DeadlineExceeded of
//     package context.
//   - The vet check lostcancel does not know these packages: it no longer sees a
//     CancelFunc that is never called.
//   - Leak checkers such as goleak see the wheel's goroutine, which is there from
//     the first timer to the end of the program. Package hwt documents how to name
//     it.
//   - GODEBUG=asynctimerchan=1 has no effect.
//
// # Contexts that are waited for
//
// A deadline of dropin/context costs less than one of package context only as long as
// nothing waits for it. The first call of Done, which a select, a child, package
// database/sql and the client of package net/http all make, costs more than package
// context does. So move the imports of context only where deadlines are mostly not
// waited for. Imports of time can be moved without those of context, and the
// reverse.
//
// # Trying it
//
// A command in the repository moves the imports of any module in a copy, and runs
// the module's own tests before and after:
//
//	go -C tools run ./trydropin github.com/cenkalti/backoff/v5@v5.0.3
//
// docs/dropin.md has what it found in some modules.
package dropin

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// Use makes timer the one that packages dropin/time and dropin/context are on. tick
// is its tick, or 0 if it has none: delays below two ticks stay with Go's runtime.
// The caller stops the timer, after everything that uses these packages; what is
// scheduled later is on timers of Go's runtime.
//
// Call Use at the beginning of main. It returns an error if timer is nil, if tick is
// negative, or if a timer is in use already: by an earlier Use, or because something
// was scheduled before, which package-level variables may do.
func Use(timer hwt.Timer, tick time.Duration) error { return shared.Use(timer, tick) }
