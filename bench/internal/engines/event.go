package engines

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// eventKind embeds the timeouts in the objects that wait for them.
var eventKind = Kind{
	Name: "hashedwheel+event", Package: hashedWheelKind.Package, Setting: "hwt.Event, a field of the object with the task",
	Tasks: onWorker, Ours: true, Resets: true, Verdict: true, Tick: fineTick,
	Only: []string{spec.Cancel, spec.ResetAll, spec.Heap, spec.Expire, spec.Burst},
	New: func() (Engine, error) {
		engine, err := hashedWheelKind.New()
		if err != nil {
			return nil, err
		}
		return Events{engine.(contract).timer}, nil
	},
}

// Events is a timer whose timeouts are embedded.
type Events struct{ timer hwt.Engine }

// Init initializes an event.
func (e Events) Init(event *hwt.Event, task hwt.TimerTask) {
	if err := event.Init(e.timer, task); err != nil {
		panic(err) // without a second Init, it cannot fail
	}
}

// callTask is a task that calls a function.
type callTask func()

func (f callTask) Run(hwt.Timeout) error {
	f()
	return nil
}

func (e Events) Schedule(delay time.Duration, f func()) Handle {
	event := new(hwt.Event)
	e.Init(event, callTask(f))
	return e.Reset(event, delay, nil)
}

func (Events) Cancel(h Handle) bool { return h.(*hwt.Event).Cancel() }

func (Events) Reset(h Handle, delay time.Duration, _ func()) Handle {
	if err := h.(*hwt.Event).Arm(delay); err != nil {
		panic(err) // without a limit or a stop, it cannot fail
	}
	return h
}
