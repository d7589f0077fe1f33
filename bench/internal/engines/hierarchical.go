package engines

import "github.com/hashedwheel/hwt/hierarchical"

var hierarchicalKind = Kind{
	Name: "hierarchical", Package: "github.com/hashedwheel/hwt/hierarchical", Setting: "the defaults: tick 1 ms, 64 ticks per level",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	New: func() (Engine, error) {
		timer, err := hierarchical.New(&hierarchical.Options{TickDuration: fineTick, TicksPerWheel: 64})
		return contract{timer}, err
	},
}
