package engines

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

var russellLuoKind = Kind{
	Name: "RussellLuo", Package: "github.com/RussellLuo/timingwheel",
	Setting: "tick 1 ms, 8192 buckets per level (its README: 20; more is cheaper)",
	Tasks:   goroutineEach, Verdict: true, Tick: fineTick,
	New: func() (Engine, error) {
		wheel := timingwheel.NewTimingWheel(fineTick, fineTicks)
		wheel.Start()
		return russellLuo{wheel}, nil
	},
}

type russellLuo struct{ wheel *timingwheel.TimingWheel }

func (r russellLuo) Schedule(delay time.Duration, f func()) Handle {
	return r.wheel.AfterFunc(delay, f)
}

func (r russellLuo) Cancel(h Handle) bool { return h.(*timingwheel.Timer).Stop() }

func (r russellLuo) Reset(h Handle, delay time.Duration, f func()) Handle {
	r.Cancel(h)
	return r.Schedule(delay, f)
}
