package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// The names of the engines.
const (
	nameHashed       = "hashed"
	nameHierarchical = "hierarchical"
	nameRuntime      = "runtime"
)

// engineFlags are the flags that choose and size a timer.
type engineFlags struct {
	name    string
	tick    time.Duration
	wheel   int // 0 unless set: usualWheel
	workers int
	flags   *pflag.FlagSet
	page    pageServer
}

// Ranges of the flags. The library allows more.
const (
	maxTick  = time.Minute
	maxWheel = 1 << 24
)

// usualWheel is how many buckets a wheel has unless --wheel is set.
var usualWheel = map[string]int{nameHashed: 8192, nameHierarchical: hierarchical.DefaultTicksPerWheel}

// slowTask is how long a task may hold the worker. The tasks of this command are
// short; one that takes longer than the default only shows that the machine is
// busy.
const slowTask = time.Second

// add adds the flags to a command, and checks them before it runs. A tick that is
// set already is the default.
func (f *engineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.name, f.tick, f.flags = nameHashed, cmp.Or(f.tick, time.Millisecond), flags
	f.workers = 1
	flags.Var(choice[string]{&f.name, "engine", []string{nameHashed, nameHierarchical, nameRuntime}}, "engine",
		"the timer: hashed, hierarchical, or runtime for Go's own timers")
	flags.Var(duration(&f.tick, hashedwheel.MinTickDuration, maxTick), "tick",
		"the timer's tick, which is how late a timeout may fire")
	flags.Var(number(&f.wheel, 1, maxWheel), "wheel",
		"buckets of the timer's wheel, rounded up to a power of two (default 8192);\nof each level of a hierarchical one (default 64)")
	flags.Var(number(&f.workers, 1, hashedwheel.MaxWorkers), "workers", "the timer's worker goroutines")
	f.page.add(flags)
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check() }
}

// check refuses flags that do not go together.
func (f *engineFlags) check() error {
	for _, name := range []string{"tick", "wheel", "workers"} {
		if f.name == nameRuntime && f.flags.Changed(name) {
			return usageError{fmt.Errorf("--%s: the runtime engine has none (allowed: --engine hashed or hierarchical)", name)}
		}
	}
	if f.name == nameHierarchical && f.wheel != 0 && (f.wheel < hierarchical.MinTicksPerWheel || f.wheel > hierarchical.MaxTicksPerWheel) {
		return usageError{fmt.Errorf("--wheel %d: must be a number from %d to %d with --engine hierarchical",
			f.wheel, hierarchical.MinTicksPerWheel, hierarchical.MaxTicksPerWheel)}
	}
	return nil
}

// buckets returns the size of the wheel, which the hashed wheel rounds up to a power
// of two.
func (f *engineFlags) buckets() int {
	n := cmp.Or(f.wheel, usualWheel[f.name])
	if f.name == nameHashed {
		n = 1 << bits.Len(uint(n-1))
	}
	return n
}

// open makes the timer and puts it on the page. name is for both, and its logs.
func (f *engineFlags) open(name string) (hwt.Engine, error) {
	timer, err := f.make(name)
	if err == nil {
		f.page.show(name, timer)
	}
	return timer, err
}

func (f *engineFlags) make(name string) (hwt.Engine, error) {
	switch f.name {
	case nameHierarchical:
		return hierarchical.New(&hierarchical.Options{
			SlowTaskThreshold: slowTask,
			Name:              name,
			TickDuration:      f.tick,
			TicksPerWheel:     f.buckets(),
			RecordCallers:     f.page.address != "",
			Workers:           f.workers,
		})
	case nameRuntime:
		return runtimetimer.New(&runtimetimer.Options{Name: name, RecordCallers: f.page.address != ""})
	}
	return hashedwheel.New(&hashedwheel.Options{
		SlowTaskThreshold: slowTask,
		Name:              name,
		TickDuration:      f.tick,
		TicksPerWheel:     f.buckets(),
		Workers:           f.workers,
	})
}

// String describes the timer that open makes.
func (f *engineFlags) String() string {
	workers := ""
	if f.workers > 1 {
		workers = fmt.Sprintf(", %d workers", f.workers)
	}
	switch f.name {
	case nameHierarchical:
		return fmt.Sprintf("hierarchical wheel, tick %v, %d buckets a level%s", f.tick, f.buckets(), workers)
	case nameRuntime:
		return "Go's own timers"
	}
	return fmt.Sprintf("hashed wheel, tick %v, %d buckets%s", f.tick, f.buckets(), workers)
}
