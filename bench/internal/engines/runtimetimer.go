package engines

import "github.com/hashedwheel/hwt/runtimetimer"

var runtimeTimerKind = Kind{
	Name: "runtimetimer", Package: "github.com/hashedwheel/hwt/runtimetimer", Setting: "no tick",
	Ours: true, Resets: true, Verdict: true,
	New: func() (Engine, error) {
		timer, err := runtimetimer.New()
		return contract{timer}, err
	},
}
