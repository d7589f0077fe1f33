package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// engine is a timer, whichever it is.
type engine interface {
	hwt.Timer
	Pending() int64
	Stats() hwt.Stats
}

// engineKind is a flag for the engine's name.
type engineKind string

// The engines.
const (
	kindHashed       engineKind = "hashed"
	kindHierarchical engineKind = "hierarchical"
	kindRuntime      engineKind = "runtime"
)

// String returns the name.
func (k *engineKind) String() string { return string(*k) }

// Type returns the kind of value.
func (k *engineKind) Type() string { return "engine" }

// Set checks and takes a name.
func (k *engineKind) Set(name string) error {
	switch kind := engineKind(strings.ToLower(name)); kind {
	case kindHashed, kindHierarchical, kindRuntime:
		*k = kind
		return nil
	}
	return fmt.Errorf("must be %s, %s or %s", kindHashed, kindHierarchical, kindRuntime)
}

// engineFlags are the flags that choose and size a timer.
type engineFlags struct {
	kind  engineKind
	tick  time.Duration
	wheel int // 0 unless set: the engine's usual
	flags *pflag.FlagSet
}

// Ranges of the flags. The library allows more; a demo need not.
const (
	maxTick  = time.Minute
	maxWheel = 1 << 24
)

// usualWheel is how many buckets a wheel has unless --wheel is set.
var usualWheel = map[engineKind]int{kindHashed: 8192, kindHierarchical: hierarchical.DefaultTicksPerWheel}

// add adds the flags to a command. A tick that is set already is the default.
func (f *engineFlags) add(flags *pflag.FlagSet) {
	f.kind, f.tick, f.flags = kindHashed, cmp.Or(f.tick, time.Millisecond), flags
	flags.Var(&f.kind, "engine", "the timer: hashed, hierarchical, or runtime, which is Go's own timers")
	flags.Var(duration(&f.tick, hashedwheel.MinTickDuration, maxTick), "tick",
		"the timer's tick, which is how late it may fire")
	flags.Var(optional{number(&f.wheel, 1, maxWheel)}, "wheel",
		"buckets of the timer's wheel (default 8192; hierarchical: 64 a level)")
}

// optional is a flag that has no default to show.
type optional struct{ ranged[int] }

// String returns the value as the command line would have it.
func (o optional) String() string {
	if o.value == nil || *o.value == 0 {
		return ""
	}
	return o.ranged.String()
}

// slowTask is for how long a task may hold the worker unnoticed. The tasks of this
// command are short; one that takes ten ticks only shows that the machine is busy.
const slowTask = time.Second

// check refuses the flags that do not go together.
func (f *engineFlags) check() error {
	for _, name := range []string{"tick", "wheel"} {
		if f.kind == kindRuntime && f.flags.Changed(name) {
			return usageError{fmt.Errorf("--%s: the runtime engine has none (allowed: --engine %s or %s)", name, kindHashed, kindHierarchical)}
		}
	}
	if f.kind == kindHierarchical && f.wheel != 0 && (f.wheel < hierarchical.MinTicksPerWheel || f.wheel > hierarchical.MaxTicksPerWheel) {
		return usageError{fmt.Errorf("--wheel %d: must be a number from %d to %d with --engine %s",
			f.wheel, hierarchical.MinTicksPerWheel, hierarchical.MaxTicksPerWheel, kindHierarchical)}
	}
	return nil
}

// buckets returns the size of the wheel.
func (f *engineFlags) buckets() int {
	if f.wheel != 0 {
		return f.wheel
	}
	return usualWheel[f.kind]
}

// open makes the timer. name is for its logs.
func (f *engineFlags) open(name string) (engine, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	switch f.kind {
	case kindHierarchical:
		return hierarchical.New(
			hierarchical.WithSlowTaskThreshold(slowTask),
			hierarchical.WithName(name),
			hierarchical.WithTickDuration(f.tick),
			hierarchical.WithTicksPerWheel(f.buckets()),
		)
	case kindRuntime:
		return runtimetimer.New(runtimetimer.WithName(name))
	}
	return hashedwheel.New(
		hashedwheel.WithSlowTaskThreshold(slowTask),
		hashedwheel.WithName(name),
		hashedwheel.WithTickDuration(f.tick),
		hashedwheel.WithTicksPerWheel(f.buckets()),
	)
}

// String describes the timer that open makes.
func (f *engineFlags) String() string {
	switch f.kind {
	case kindHierarchical:
		return fmt.Sprintf("hierarchical wheel, tick %v, %d buckets a level", f.tick, f.buckets())
	case kindRuntime:
		return "Go's own timers"
	}
	return fmt.Sprintf("hashed wheel, tick %v, %d buckets", f.tick, f.buckets())
}
