package engines

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// ours returns the engines of this module.
func ours() []Kind {
	fine := hashedwheel.Options{TickDuration: fineTick, TicksPerWheel: fineTicks}
	two, seven, starting := fine, fine, fine
	two.Workers, seven.Workers = 2, 7
	starting.Executor = hwt.ExecutorFunc(func(task func()) error { go task(); return nil })

	base := ofWheel("hashedwheel", "tick 1 ms, 8192 ticks (the defaults: 100 ms, 512)", &fine)
	event := ofWheel("hashedwheel+event", "hwt.Event, a field of the object with the task", &fine,
		spec.Cancel, spec.ResetAll, spec.Heap, spec.Expire, spec.Burst)
	event.New = func() (Engine, error) {
		timer, err := hashedwheel.New(&fine)
		return Events{timer}, err
	}
	defaults := ofWheel("hashedwheel+100ms", "the defaults: tick 100 ms, 512 ticks", nil, spec.Expire, spec.Trickle, spec.Lone)
	defaults.Tick = 100 * time.Millisecond
	goroutines := ofWheel("hashedwheel+go", "an executor that starts goroutines", &starting, spec.Expire, spec.Sustained, spec.Saturated)
	goroutines.Each = true
	levels := Kind{
		Name: "hierarchical", Package: "github.com/hashedwheel/hwt/hierarchical", Setting: "the defaults: tick 1 ms, 64 ticks per level",
		Ours: true, Verdict: true, Tick: fineTick,
		New: func() (Engine, error) {
			timer, err := hierarchical.New(nil)
			return contract{timer}, err
		},
	}
	runtimes := Kind{
		Name: "runtimetimer", Package: "github.com/hashedwheel/hwt/runtimetimer", Setting: "no tick",
		Each: true, Ours: true, Verdict: true,
		New: func() (Engine, error) {
			timer, err := runtimetimer.New(nil)
			return contract{timer}, err
		},
	}
	return []Kind{
		base, event,
		ofWheel("hashedwheel+2", "two workers", &two, spec.Expire, spec.Burst, spec.Sustained, spec.Saturated),
		ofWheel("hashedwheel+7", "seven workers", &seven, spec.Saturated, spec.Trickle), // more than processors
		defaults, goroutines, nextKind(base), levels, runtimes,
	}
}

// ofWheel returns a hashed wheel with the options.
func ofWheel(name, setting string, options *hashedwheel.Options, only ...string) Kind {
	return Kind{
		Name: name, Package: "github.com/hashedwheel/hwt/hashedwheel", Setting: setting, Ours: true, Verdict: true, Tick: fineTick, Only: only,
		New: func() (Engine, error) {
			timer, err := hashedwheel.New(options)
			return contract{timer}, err
		},
	}
}

// contract adapts every engine of ours.
type contract struct{ timer hwt.Engine }

func (c contract) Schedule(delay time.Duration, f func()) Handle {
	timeout, err := c.timer.AfterFunc(delay, f)
	must(err)
	return timeout
}

func (c contract) Cancel(h Handle) bool { return h.(hwt.Timeout).Cancel() }

func (c contract) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(hwt.Timeout).Reset(delay)
	return h
}

// Events is a timer with timeouts embedded in objects.
type Events struct{ timer hwt.Engine }

// Init initializes an event.
func (e Events) Init(event *hwt.Event, task hwt.TimerTask) { must(event.Init(e.timer, task)) }

func (e Events) Schedule(delay time.Duration, f func()) Handle {
	event := new(hwt.Event)
	e.Init(event, callTask(f))
	return e.Reset(event, delay, nil)
}

func (Events) Cancel(h Handle) bool { return h.(*hwt.Event).Cancel() }

func (Events) Reset(h Handle, delay time.Duration, _ func()) Handle {
	must(h.(*hwt.Event).Arm(delay))
	return h
}

// callTask is a task that calls a function.
type callTask func()

func (f callTask) Run(hwt.Timeout) error {
	f()
	return nil
}

// must panics after an error. Without a limit or a stop, a timer returns no error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
