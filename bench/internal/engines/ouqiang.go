package engines

import (
	"sync/atomic"
	"time"

	"github.com/ouqiang/timewheel"
)

var ouqiangKind = Kind{
	Name: "ouqiang", Package: "github.com/ouqiang/timewheel", Version: "v1.0.1",
	Setting: "tick 1 s, the shortest, and 3600 slots, as in its README", Tasks: goroutineEach, Tick: time.Second, Only: verdicts,
	New: func() (Engine, error) {
		wheel := timewheel.New(time.Second, 3600, func(f any) { f.(func())() })
		wheel.Start()
		return &ouqiang{wheel: wheel}, nil
	},
}

// ouqiang is a wheel of keyed timeouts. A tick below one second makes it divide by zero.
type ouqiang struct {
	wheel *timewheel.TimeWheel
	last  atomic.Int64
}

func (o *ouqiang) Schedule(delay time.Duration, f func()) Handle {
	var key any = o.last.Add(1)
	o.wheel.AddTimer(max(delay, 0), key, f) // it ignores negative delays
	return key
}

func (o *ouqiang) Cancel(h Handle) bool {
	o.wheel.RemoveTimer(h)
	return true
}

func (o *ouqiang) Reset(h Handle, delay time.Duration, f func()) Handle {
	o.Cancel(h)
	return o.Schedule(delay, f)
}
