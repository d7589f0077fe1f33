package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

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
	cmd     *command
	page    pageServer
}

// Ranges of the flags. The library allows more.
const (
	minTick    = time.Millisecond
	maxTick    = 10 * time.Second // less than the time after which a late timeout counts as lost
	maxWheel   = 1 << 24
	maxWorkers = 64
)

// usualWheel is the number of buckets of a wheel unless --wheel is set.
var usualWheel = map[string]int{nameHashed: 8192, nameHierarchical: 64}

// slowTask is the time that a task may hold the worker. The tasks of this command are
// short: one above the library's default shows only that the machine is busy.
const slowTask = time.Second

// add adds the flags to a command.
func (f *engineFlags) add(cmd *command) {
	f.name, f.tick, f.workers, f.cmd = nameHashed, time.Millisecond, 1, cmd
	cmd.flags.Var(choice[string]{&f.name, []string{nameHashed, nameHierarchical, nameRuntime}}, "engine",
		"the timer: hashed, hierarchical, or runtime for Go's own timers")
	cmd.flags.Var(duration(&f.tick, minTick, maxTick), "tick", "the timer's tick, the greatest lateness it adds")
	cmd.flags.Var(number(&f.wheel, 1, maxWheel), "wheel",
		"buckets of the wheel, rounded up to a power of two (default 8192); per level of a hierarchical one (default 64)")
	cmd.flags.Var(number(&f.workers, 1, maxWorkers), "workers", "the timer's worker goroutines")
	f.page.add(cmd)
}

// check rejects flags that do not go together.
func (f *engineFlags) check() error {
	for _, name := range []string{"tick", "wheel", "workers"} {
		if f.name == nameRuntime && f.cmd.changed(name) {
			return usageError{fmt.Errorf("--%s: does not apply to the runtime engine (allowed: --engine hashed or hierarchical)", name)}
		}
	}
	timer, err := f.make("check")
	if err != nil {
		return usageError{fmt.Errorf("--wheel: %w", err)} // only the engine knows its range
	}
	timer.Stop()
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

// open creates the timer and puts it on the page.
func (f *engineFlags) open(name string) (hwt.Engine, error) {
	timer, err := f.make(name)
	if err == nil {
		f.page.show(name, timer)
	}
	return timer, err
}

func (f *engineFlags) make(name string) (hwt.Engine, error) {
	callers := f.page.address != "" // the page shows them
	if f.name == nameRuntime {
		return runtimetimer.New(&runtimetimer.Options{Name: name, RecordCallers: callers})
	}
	options := hashedwheel.Options{
		SlowTaskThreshold: slowTask,
		Name:              name,
		TickDuration:      f.tick,
		TicksPerWheel:     f.buckets(),
		RecordCallers:     callers,
		Workers:           f.workers,
	}
	if f.name == nameHierarchical {
		return hierarchical.New((*hierarchical.Options)(&options))
	}
	return hashedwheel.New(&options)
}

// String describes the timer that open creates.
func (f *engineFlags) String() string {
	workers := ""
	if f.workers > 1 {
		workers = fmt.Sprintf(", %d workers", f.workers)
	}
	switch f.name {
	case nameHierarchical:
		return fmt.Sprintf("hierarchical wheel, tick %v, %d buckets per level%s", f.tick, f.buckets(), workers)
	case nameRuntime:
		return "Go's own timers"
	}
	return fmt.Sprintf("hashed wheel, tick %v, %d buckets%s", f.tick, f.buckets(), workers)
}
