package hwt

import "runtime"

// CallerTimeout is a [Timeout] that may know where it was scheduled. The engines'
// timeouts implement it; a Timeout that wraps one should forward the method.
type CallerTimeout interface {
	Timeout

	// Caller returns the first frame outside this module of the call that scheduled the
	// timeout. It returns false if the option RecordCallers is not set, or if there is no such
	// frame: a ticker of package clock, for example, schedules its next tick itself.
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
