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
	defer func() {
		if !returned {
			broken(Failure(recover()))
		}
	}()
	f()
	returned = true
}

// Failure returns the error of users' code that did not return, given the result of the
// recover that a deferred function has called.
func Failure(recovered any) error {
	if recovered != nil { // recover returns a value for panic(nil), too.
		return &hwt.PanicError{Value: recovered, Stack: debug.Stack()}
	}
	return hwt.ErrGoexit
}
