package hwt

import "runtime"

// CallerTimeout is a [Timeout] that may know the call that scheduled the timeout. The
// engines' timeouts implement CallerTimeout; a Timeout that wraps such a timeout should
// forward the method.
type CallerTimeout interface {
	Timeout

	// Caller returns the first frame outside this module of the call that scheduled the
	// timeout. Caller returns false if the option RecordCallers is not set, or if no such
	// frame exists: a ticker of package clock, for example, schedules the next tick itself.
	Caller() (runtime.Frame, bool)
}

// CallerOf returns the Caller of timeout if it is a [CallerTimeout], and false
// otherwise.
func CallerOf(timeout Timeout) (runtime.Frame, bool) {
	if t, ok := timeout.(CallerTimeout); ok {
		return t.Caller()
	}
	return runtime.Frame{}, false
}
