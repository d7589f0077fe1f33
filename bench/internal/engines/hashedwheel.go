package engines

import "github.com/hashedwheel/hwt/hashedwheel"

var hashedWheelKind = Kind{
	Name: "hashedwheel", Package: "github.com/hashedwheel/hwt/hashedwheel", Setting: "tick 1 ms, 8192 ticks",
	Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	New: func() (Engine, error) {
		timer, err := hashedwheel.New(
			hashedwheel.WithTickDuration(fineTick), hashedwheel.WithTicksPerWheel(fineTicks))
		return contract{timer}, err
	},
}
