package engines

import (
	"time"

	"github.com/hashedwheel/hwt/hierarchical"
)

var hierarchicalKind = Kind{
	Name: "hierarchical", Package: "github.com/hashedwheel/hwt/hierarchical", Setting: "the defaults: tick 1 ms, 64 ticks a level",
	Tasks: onWorker,
	Ours:  true, Resets: true, Verdict: true, Tick: fineTick,
	New: func(tick time.Duration) (Engine, error) {
		timer, err := hierarchical.New(&hierarchical.Options{TickDuration: tick, TicksPerWheel: 64})
		return contract{timer}, err
	},
}
