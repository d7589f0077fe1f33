package engines

import "github.com/hashedwheel/hwt/hierarchical"

var hierarchicalKind = Kind{
	Name: "hierarchical", Package: "github.com/hashedwheel/hwt/hierarchical", Setting: "tick 1 ms, 64 ticks a level",
	Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	New: func() (Engine, error) {
		timer, err := hierarchical.New(hierarchical.WithTickDuration(fineTick), hierarchical.WithTicksPerWheel(64))
		return contract{timer}, err
	},
}
