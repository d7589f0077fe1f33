package engines

import (
	"time"

	"github.com/antlabs/timer"
)

var antlabsKind = Kind{
	Name: "antlabs", Package: "github.com/antlabs/timer", Setting: "tick 10 ms, which is fixed",
	Tasks: goroutineEach, Resets: true, Verdict: true, Tick: 10 * time.Millisecond,
	New: func() (Engine, error) {
		wheel := timer.NewTimer(timer.WithTimeWheel())
		go wheel.Run()
		return antlabs{wheel}, nil
	},
}

type antlabs struct{ wheel timer.Timer }

func (a antlabs) Schedule(delay time.Duration, f func()) Handle {
	return a.wheel.AfterFunc(max(delay, 0), f)
}

func (a antlabs) Cancel(h Handle) bool { return h.(timer.TimeNoder).Stop() }

func (a antlabs) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(timer.TimeNoder).Reset(delay)
	return h
}
