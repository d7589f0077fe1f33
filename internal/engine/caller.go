package engine

import (
	"runtime"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// recorded is a timeout of a timer that records callers. All of that timer's are.
type recorded struct {
	Timeout
	caller uintptr // Immutable.
}

var _ hwt.CallerTimeout = (*Timeout)(nil)

// newTimeout makes a timeout that has no worker yet. caller is from the function of
// that name.
func (s *setup) newTimeout(deadline int64, task hwt.TimerTask, caller uintptr) *Timeout {
	if s.callers {
		return &(&recorded{Timeout{state: newState(deadline), task: task}, caller}).Timeout
	}
	return &Timeout{state: newState(deadline), task: task}
}

// caller returns where the calling goroutine came from, if that is recorded.
func (s *setup) caller() uintptr {
	if s.callers {
		return enginekit.Caller()
	}
	return 0
}

// Caller implements hwt.CallerTimeout.
func (t *Timeout) Caller() (runtime.Frame, bool) {
	if !t.worker.core.callers {
		return runtime.Frame{}, false
	}
	return enginekit.CallerFrame((*recorded)(unsafe.Pointer(t)).caller)
}
