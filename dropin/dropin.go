// Package dropin has packages that replace packages time and context when only the import
// path changes. Package dropin/cron does the same for github.com/robfig/cron/v3:
//
//	import "github.com/hashedwheel/hwt/dropin/time"    // was: "time"
//	import "github.com/hashedwheel/hwt/dropin/context" // was: "context"
//	import "github.com/hashedwheel/hwt/dropin/cron"    // was: "github.com/robfig/cron/v3"
//
// The first two have every exported name of the standard packages. Timers, tickers, sleeps,
// and deadlines share one wheel for the whole program. The first use creates it: an
// engine of package hierarchical with a tick of 1 ms, unless [Use] set another timer
// before. Everything else is the standard library's; a Time, a Duration, or a Context
// has the same type in both.
//
// Use these packages to find out how a wheel would change an existing program, or to move a
// program with very many timers without editing the code. Package clock offers the same to
// new code, without a timer for the whole program. A program with few pending timers gains
// nothing.
//
// # Timers on the wheel
//
// Delays of two ticks or more are on the wheel. Shorter delays use Go's runtime timers. These
// are not late by a tick. In a testing/synctest bubble everything uses packages time and
// context, so tests in bubbles pass as before. A bubble is recognized by a [time.Now] without a
// monotonic clock reading.
//
// A panic in a function of AfterFunc ends the program, as in package time.
//
// # Differences
//
//   - Requiring this module raises the go line of the program's go.mod to this module's, and
//     with it changes of Go's own behavior.
//   - Under load, timers and deadlines are up to one tick late. Package clock documents
//     the other differences of its timers and contexts.
//   - Timer and Ticker are distinct types. A *Timer cannot be passed to or from code
//     that uses package time.
//   - A Timer that is not stopped stays in memory until it fires. A Ticker that is not
//     stopped stays forever.
//   - A cancel of a WithCancel context ends the deadline contexts below it from another
//     goroutine. Their methods report the cancel immediately, but Done channels
//     obtained earlier, and contexts derived from them, follow when that goroutine has
//     run. In package context they have ended when cancel returns.
//   - Local and UTC are copies of the variables of package time, and Canceled and
//     DeadlineExceeded are copies of those of package context. Setting one does not
//     change the other.
//   - The vet check lostcancel does not know these packages. It no longer reports a
//     CancelFunc that is never called.
//   - Leak checkers such as goleak report the wheel's goroutine while timers are
//     pending. It ends 50 ms after the last one. Package hwt shows how to exclude it.
//   - GODEBUG=asynctimerchan=1 has no effect.
//
// # Contexts with waiters
//
// A deadline of dropin/context costs less than one of package context only until the first call
// of Done. That call costs more than package context does. A select, a child context, package
// database/sql, and the client of package net/http all make it. Move the imports of context
// only where most deadlines are never waited for. Imports of time can be moved without imports
// of context, and the reverse.
//
// # Trying it
//
// A command in the repository moves the imports of any module in a copy, and runs the
// module's tests before and after:
//
//	tools/trydropin.sh github.com/cenkalti/backoff/v5@v5.0.3
//
// docs/dropin.md lists the results for a number of modules.
package dropin

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// Use makes timer the timer of packages dropin/time and dropin/context. tick is the tick
// of the timer, or 0 for a timer without ticks; delays below two ticks use runtime timers.
// The caller stops the timer after all uses of these packages; timers and deadlines
// created after that are runtime timers.
//
// Call Use at the beginning of main. It returns an error if timer is nil, if tick is
// negative, or if a timer is already in use: because Use was called before, or because
// a timer was created, for example in a package-level variable.
func Use(timer hwt.Timer, tick time.Duration) error { return shared.Use(timer, tick) }
