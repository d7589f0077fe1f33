package engines

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/hashedwheel"
)

var hashedWheelKind = Kind{
	Name: "hashedwheel", Package: "github.com/hashedwheel/hwt/hashedwheel",
	Setting: "tick 1 ms, 8192 ticks (the defaults: 100 ms, 512)", Tasks: onWorker,
	Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	New: newHashedWheel(hashedwheel.Options{}),
}

// twoWorkersKind takes part in loads that exceed one worker, and beside busy goroutines.
var twoWorkersKind = Kind{
	Name: "hashedwheel+2", Package: hashedWheelKind.Package, Setting: "two workers",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Expire, spec.Burst, spec.FullSpeed, spec.Sustained, spec.Saturated},
	New:  newHashedWheel(hashedwheel.Options{Workers: 2}),
}

// sevenWorkersKind has more workers than processors.
var sevenWorkersKind = Kind{
	Name: "hashedwheel+7", Package: hashedWheelKind.Package, Setting: "seven workers",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Saturated, spec.Trickle},
	New:  newHashedWheel(hashedwheel.Options{Workers: 7}),
}

// defaultsKind has the default options.
var defaultsKind = Kind{
	Name: "hashedwheel+100ms", Package: hashedWheelKind.Package, Setting: "the defaults: tick 100 ms, 512 ticks",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: 100 * time.Millisecond,
	Only: []string{spec.Expire, spec.Trickle, spec.Lone},
	New: func() (Engine, error) {
		timer, err := hashedwheel.New(nil)
		return contract{timer}, err
	},
}

// goroutinesKind runs each task in a goroutine, as most rivals do.
var goroutinesKind = Kind{
	Name: "hashedwheel+go", Package: hashedWheelKind.Package, Setting: "an executor that starts goroutines",
	Tasks: goroutineEach, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Expire, spec.Sustained, spec.Saturated},
	New:  newHashedWheel(hashedwheel.Options{Executor: starter{}}),
}

// newHashedWheel returns a function that makes timers with the options and a fine tick.
func newHashedWheel(o hashedwheel.Options) func() (Engine, error) {
	return func() (Engine, error) {
		o.TickDuration, o.TicksPerWheel = fineTick, fineTicks
		timer, err := hashedwheel.New(&o)
		return contract{timer}, err
	}
}

// starter is an executor that starts a goroutine per task.
type starter struct{}

func (starter) Execute(task func()) error {
	go task()
	return nil
}
