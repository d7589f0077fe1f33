package main

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
)

// engineFlags are the flags that choose and size a timer.
type engineFlags struct {
	name    string
	options engines.Options // without a size of the wheel unless the flag is set
}

// Ranges of the flags. The library allows more.
const (
	minTick    = time.Millisecond
	maxTick    = 10 * time.Second // less than the time after which a late timeout counts as lost
	maxWheel   = 1 << 24
	maxWorkers = 64
)

// slowTask is the time that a task may hold the worker. The tasks of this command are
// short: one above the library's default shows only that the machine is busy.
const slowTask = time.Second

// add adds the flags to a command.
func (f *engineFlags) add(flags *flag.FlagSet) {
	f.name = engines.All[0].Name
	f.options = engines.Options{Name: flags.Name(), SlowTaskThreshold: slowTask, TickDuration: time.Millisecond, Workers: 1}
	flags.Var(choice{&f.name, engines.Names()}, "engine", "`name`: hashed, hierarchical, or runtime for Go's own timers")
	duration(flags, &f.options.TickDuration, minTick, maxTick, "tick", "`duration` of the timer's tick, the greatest lateness it adds")
	number(flags, &f.options.TicksPerWheel, 1, maxWheel, "wheel",
		"`number` of buckets, rounded up to a power of two (default 8192);\nper level of a hierarchical wheel (default 64)")
	number(flags, &f.options.Workers, 1, maxWorkers, "workers", "`number` of the timer's goroutines")
}

// open creates the timer. It rejects flags that do not go together.
func (f *engineFlags) open(flags *flag.FlagSet) (timer hwt.Engine, err error) {
	engine := engines.Named(f.name)
	flags.Visit(func(set *flag.Flag) {
		if engine.Wheel == 0 && slices.Contains([]string{"tick", "wheel", "workers"}, set.Name) {
			err = usageError{fmt.Errorf("-%s: does not apply to the runtime engine (allowed: -engine hashed or hierarchical)", set.Name)}
		}
	})
	if err != nil {
		return nil, err
	}
	f.options.TicksPerWheel = cmp.Or(f.options.TicksPerWheel, engine.Wheel)
	if timer, err = engine.New(f.options); err != nil {
		return nil, usageError{fmt.Errorf("-wheel: %w", err)} // Only the engine knows its range.
	}
	return timer, nil
}

// String describes the timer that open creates.
func (f *engineFlags) String() string {
	if f.name == "runtime" {
		return "Go's own timers"
	}
	buckets := "buckets"
	if f.name == "hierarchical" {
		buckets = "buckets per level"
	}
	return fmt.Sprintf("%s wheel, tick %v, %d %s, %d workers", f.name, f.options.TickDuration, f.options.TicksPerWheel, buckets, f.options.Workers)
}
