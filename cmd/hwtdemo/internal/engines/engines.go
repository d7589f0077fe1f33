// Package engines makes timers of every engine from the same options.
package engines

import (
	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// Options are the options of a timer. An engine ignores the fields that it lacks.
type Options = hashedwheel.Options

// Engine makes timers of one kind.
type Engine struct {
	Name  string
	Wheel int // default number of buckets for the commands; 0 for an engine without worker and wheel
	New   func(Options) (hwt.Engine, error)
}

// All are the engines of the library.
var All = []Engine{
	{"hashed", 8192, func(o Options) (hwt.Engine, error) { return hashedwheel.New(&o) }},
	{"hierarchical", 64, func(o Options) (hwt.Engine, error) { return hierarchical.New((*hierarchical.Options)(&o)) }},
	{"runtime", 0, func(o Options) (hwt.Engine, error) {
		return runtimetimer.New(&runtimetimer.Options{Name: o.Name, RecordCallers: o.RecordCallers,
			Executor: o.Executor, Logger: o.Logger, ErrorHandler: o.ErrorHandler})
	}},
}

// Names returns the names of all engines.
func Names() (names []string) {
	for _, e := range All {
		names = append(names, e.Name)
	}
	return names
}

// Named returns the engine of that name. It must exist.
func Named(name string) Engine {
	for _, e := range All {
		if e.Name == name {
			return e
		}
	}
	panic("engines: no engine " + name)
}
