package hwt

import "runtime"

// CallerTimeout is a [Timeout] that may know where it was scheduled. Those of the
// engines are; a Timeout that wraps one may pass the method on.
type CallerTimeout interface {
	Timeout

	// Caller returns the first frame outside this module of the call that scheduled
	// the timeout. It returns false if the timer does not record that, which it does
	// with its option RecordCallers, or if there is no such frame: a ticker of
	// package clock, for example, schedules its next tick itself.
	Caller() (runtime.Frame, bool)
}

// CallerOf returns where timeout was scheduled, if it is a [CallerTimeout] that knows
// it.
func CallerOf(timeout Timeout) (runtime.Frame, bool) {
	if t, ok := timeout.(CallerTimeout); ok {
		return t.Caller()
	}
	return runtime.Frame{}, false
}
