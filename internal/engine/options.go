package engine

import (
	"cmp"
	"log/slog"
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/leak"
)

// Defaults that the wheel engines share.
const (
	defaultSlowTaskTicks = 10
	minDefaultSlowTask   = 100 * time.Millisecond // ten time slices of Go's scheduler
	defaultStopTimeout   = 5 * time.Second
	minTickDuration      = time.Millisecond
	maxWorkers           = 1024
)

// Options has the fields of the wheel engines' Options, which convert to Options. The
// engines document the fields.
type Options struct {
	TickDuration         time.Duration
	TicksPerWheel        int
	Workers              int
	MaxPendingTimeouts   int64
	Executor             hwt.Executor
	Logger               *slog.Logger
	ErrorHandler         func(timeout hwt.Timeout, err error)
	Name                 string
	SlowTaskThreshold    time.Duration
	StopTimeout          time.Duration
	RecordCallers        bool
	LabelTasks           bool
	DisableLeakDetection bool
}

// Limits has the defaults and ranges that differ between the engines.
type Limits struct {
	Package          string        // begins every error, and is the default of Name
	TickDuration     time.Duration // the default
	TicksPerWheel    int           // the default
	MinTicksPerWheel int
	MaxTicksPerWheel int
}

// Complete returns the options with the defaults filled in, or the error for the first field
// that is out of range.
func (o Options) Complete(l Limits) (Options, error) {
	var err error
	if o.TickDuration != 0 && o.TickDuration < minTickDuration {
		return o, check.Invalid(l.Package, "TickDuration", o.TickDuration, "0 for the default, or at least 1ms")
	}
	if err := check.NotNegative(l.Package, "MaxPendingTimeouts", o.MaxPendingTimeouts, "no limit"); err != nil {
		return o, err
	}
	o.TickDuration = cmp.Or(o.TickDuration, l.TickDuration)
	o.TicksPerWheel, err = check.OrDefault(l.Package, "TicksPerWheel",
		o.TicksPerWheel, l.TicksPerWheel, l.MinTicksPerWheel, l.MaxTicksPerWheel)
	if err != nil {
		return o, err
	}
	if o.Workers, err = check.OrDefault(l.Package, "Workers", o.Workers, 1, 1, maxWorkers); err != nil {
		return o, err
	}
	r := o.runner()
	if err := r.Complete(l.Package); err != nil {
		return o, err
	}
	o.Name, o.Logger = r.Name, r.Logger
	slow := min(o.TickDuration, math.MaxInt64/defaultSlowTaskTicks) * defaultSlowTaskTicks
	o.SlowTaskThreshold = check.OrOff(o.SlowTaskThreshold, max(slow, minDefaultSlowTask))
	o.StopTimeout = check.OrOff(o.StopTimeout, defaultStopTimeout)
	return o, nil
}

// Config has the arguments of Init. The engines have checked the arguments.
type Config struct {
	Tick       time.Duration // at least a nanosecond
	MaxPending int64         // 0 or less: no limit
	SlowTask   time.Duration // 0: not watched
	StopWait   time.Duration // how long Stop waits for users' code
	Workers    int           // at least 1
	NewWheel   func() Wheel  // called once for each worker
	Runner     *enginekit.Runner
	Callers    bool          // record where timeouts are scheduled
	Tracker    *leak.Tracker // nil: not tracked
}

func (o *Options) runner() *enginekit.Runner {
	return &enginekit.Runner{Name: o.Name, Executor: o.Executor, Logger: o.Logger, OnError: o.ErrorHandler}
}

// Config returns the argument of Init for a timer with these complete options, on wheels that
// newWheel makes. tracker is nil if the timer is not tracked.
func (o *Options) Config(newWheel func() Wheel, tracker *leak.Tracker) Config {
	runner := o.runner()
	if o.LabelTasks {
		runner.Labels = enginekit.NewLabels(o.Name, o.Executor == nil)
	}
	return Config{
		Tick:       o.TickDuration,
		MaxPending: o.MaxPendingTimeouts,
		SlowTask:   o.SlowTaskThreshold,
		StopWait:   o.StopTimeout,
		Workers:    o.Workers,
		NewWheel:   newWheel,
		Tracker:    tracker,
		Runner:     runner,
		Callers:    o.RecordCallers,
	}
}
