package engine

import (
	"runtime"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

var _ hwt.CallerTimeout = (*Timeout)(nil)

// newTimeout makes a timeout that has no worker yet. caller is from the function of
// that name.
func (s *setup) newTimeout(deadline int64, task hwt.TimerTask, caller uintptr) *Timeout {
	if s.callers {
		return &(&enginekit.Recorded[Timeout]{Timeout: Timeout{state: newState(deadline), task: task}, Caller: caller}).Timeout
	}
	return &Timeout{state: newState(deadline), task: task}
}

// Caller implements hwt.CallerTimeout.
func (t *Timeout) Caller() (runtime.Frame, bool) {
	return enginekit.FrameOf(t.home.core.timer.callers, t)
}
