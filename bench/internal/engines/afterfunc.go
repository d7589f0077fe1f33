package engines

import "time"

var afterFuncKind = Kind{
	Name: "AfterFunc", Package: "time", Setting: "no tick", Tasks: goroutineEach, Resets: true, Verdict: true,
	New: func() (Engine, error) { return afterFunc{}, nil },
}

// afterFunc is the standard library's timers.
type afterFunc struct{}

func (afterFunc) Schedule(delay time.Duration, f func()) Handle { return time.AfterFunc(delay, f) }

func (afterFunc) Cancel(h Handle) bool { return h.(*time.Timer).Stop() }

func (afterFunc) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(*time.Timer).Reset(delay)
	return h
}
