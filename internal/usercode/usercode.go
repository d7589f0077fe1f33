// Package usercode calls functions of the library's users. What they break stays
// with them: a panic or a runtime.Goexit becomes an error, in this one place.
package usercode

import (
	"runtime/debug"

	"github.com/hashedwheel/hwt"
)

// Run calls f. If f returns, so does Run. If f panics, Run calls broken with a
// *[hwt.PanicError] and returns. If f ends its goroutine, Run calls broken with
// [hwt.ErrGoexit], and then the goroutine ends: Run does not return.
//
// broken is called at most once, as a deferred function. It may panic itself,
// which Run passes on. Run allocates nothing, and neither f nor broken escapes.
func Run(f func(), broken func(err error)) {
	returned := false
	defer Catch(&returned, broken)
	f()
	returned = true
}

// Catch is what Run does after f, for callers on hot paths, which save a call of a
// closure. Defer it, and set returned once the user's code has returned.
func Catch(returned *bool, broken func(err error)) {
	if *returned {
		return
	}
	if v := recover(); v != nil { // panic(nil) has a value, too
		broken(&hwt.PanicError{Value: v, Stack: debug.Stack()})
		return
	}
	broken(hwt.ErrGoexit)
}
