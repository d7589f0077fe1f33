package engines

import (
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
)

var goZeroKind = Kind{
	Name: "go-zero", Package: "github.com/zeromicro/go-zero/core/collection",
	Setting: "TimingWheel, tick 1 ms, 8192 slots (its own cache: 1 s, 300 slots)",
	Tasks:   "one goroutine per tick", Resets: true, Tick: fineTick, Only: verdicts,
	New: func() (Engine, error) {
		wheel, err := collection.NewTimingWheel(fineTick, fineTicks, func(_, f any) { f.(func())() })
		return &goZero{wheel: wheel}, err
	},
}

// goZero is a wheel of keyed timeouts.
type goZero struct {
	wheel *collection.TimingWheel
	last  atomic.Int64
}

func (g *goZero) Schedule(delay time.Duration, f func()) Handle {
	var key any = g.last.Add(1)
	// It rejects delays that are not positive.
	if err := g.wheel.SetTimer(key, f, max(delay, 1)); err != nil {
		panic(err)
	}
	return key
}

func (g *goZero) Cancel(h Handle) bool { return g.wheel.RemoveTimer(h) == nil }

func (g *goZero) Reset(h Handle, delay time.Duration, _ func()) Handle {
	_ = g.wheel.MoveTimer(h, max(delay, 1)) // fails only once stopped
	return h
}
