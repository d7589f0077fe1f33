package engines

import (
	"time"

	timewheel "github.com/rfyiamcool/go-timewheel"
)

var rfyiamcoolKind = Kind{
	Name: "rfyiamcool", Package: "github.com/rfyiamcool/go-timewheel", Version: "v1.1.0",
	Setting: "tick 1 ms, 8192 buckets (its README: 1 s, 360)", Tasks: goroutineEach, Tick: fineTick, Only: verdicts,
	New: func() (Engine, error) {
		wheel, err := timewheel.NewTimeWheel(fineTick, fineTicks)
		if err != nil {
			return nil, err
		}
		wheel.Start()
		return rfyiamcool{wheel}, nil
	},
}

// The package starts a wheel at its import, which would wake every measured process.
func init() {
	timewheel.DefaultTimeWheel.Stop()
	timewheel.DefaultTimeWheel = nil
}

// rfyiamcool uses Add and Remove, the cheaper of the wheel's two APIs. The other, AfterFunc,
// adds a channel and a context per timeout, and its Reset adds another timeout.
type rfyiamcool struct{ wheel *timewheel.TimeWheel }

func (r rfyiamcool) Schedule(delay time.Duration, f func()) Handle { return r.wheel.Add(delay, f) }

func (r rfyiamcool) Cancel(h Handle) bool { return r.wheel.Remove(h.(*timewheel.Task)) == nil }

func (r rfyiamcool) Reset(h Handle, delay time.Duration, f func()) Handle {
	r.Cancel(h)
	return r.Schedule(delay, f)
}
