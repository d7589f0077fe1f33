// Package usercode calls functions of the library's users. It turns a panic or a
// runtime.Goexit into an error, and is the only package that does.
package usercode

import (
	"runtime/debug"

	"github.com/hashedwheel/hwt"
)

// Run calls f. If f panics, Run calls broken with a *[hwt.PanicError] and returns. If f
// ends its goroutine, Run calls broken with [hwt.ErrGoexit] and does not return.
//
// broken is called at most once, as a deferred function. If it panics, so does Run. Run
// does not allocate, and neither f nor broken escapes.
func Run(f func(), broken func(err error)) {
	returned := false
	defer Catch(&returned, broken)
	f()
	returned = true
}

// Catch is the deferred part of Run, for hot paths that avoid a closure. Callers defer
// it, and set returned after the user's code has returned.
func Catch(returned *bool, broken func(err error)) {
	if *returned {
		return
	}
	if v := recover(); v != nil { // recover returns a value for panic(nil), too.
		broken(&hwt.PanicError{Value: v, Stack: debug.Stack()})
		return
	}
	broken(hwt.ErrGoexit)
}
