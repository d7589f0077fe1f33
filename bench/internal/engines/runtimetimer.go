package engines

import "github.com/hashedwheel/hwt/runtimetimer"

var runtimeTimerKind = Kind{
	Name: "runtimetimer", Package: "github.com/hashedwheel/hwt/runtimetimer", Setting: "no tick",
	Tasks: goroutineEach, Ours: true, Resets: true, Verdict: true,
	New: func() (Engine, error) {
		timer, err := runtimetimer.New(nil)
		return contract{timer}, err
	},
}
