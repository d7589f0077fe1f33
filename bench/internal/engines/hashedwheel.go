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

// twoWorkersKind is for what one worker cannot carry alone.
var twoWorkersKind = Kind{
	Name: "hashedwheel+2", Package: hashedWheelKind.Package, Setting: "with two workers",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Expire, spec.Burst, spec.FullSpeed, spec.LongTick, spec.Sustained},
	New:  newHashedWheel(hashedwheel.Options{Workers: 2}),
}

// goroutinesKind runs tasks as most rivals do.
var goroutinesKind = Kind{
	Name: "hashedwheel+go", Package: hashedWheelKind.Package, Setting: "with an executor that starts goroutines",
	Tasks: goroutineEach, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Expire, spec.LongTick, spec.Sustained, spec.Saturated},
	New:  newHashedWheel(hashedwheel.Options{Executor: starter{}}),
}

// newHashedWheel returns a function that makes timers with the options, and a tick.
func newHashedWheel(o hashedwheel.Options) func(tick time.Duration) (Engine, error) {
	return func(tick time.Duration) (Engine, error) {
		o.TickDuration, o.TicksPerWheel = tick, fineTicks
		timer, err := hashedwheel.New(&o)
		return contract{timer}, err
	}
}

// starter is an executor that starts a goroutine for each task.
type starter struct{}

func (starter) Execute(task func()) error {
	go task()
	return nil
}
