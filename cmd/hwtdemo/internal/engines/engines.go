// Package engines makes timers of every engine from the same options.
package engines

import (
	"fmt"
	"strings"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// Options are the options of a timer. An engine ignores the fields that it lacks.
type Options = hashedwheel.Options

// Engine makes timers of one kind.
type Engine struct {
	Name string
	New  func(Options) (hwt.Engine, error)
}

// All are the engines of the library.
var All = []Engine{
	{"hashed", func(o Options) (hwt.Engine, error) { return hashedwheel.New(&o) }},
	{"hierarchical", func(o Options) (hwt.Engine, error) { return hierarchical.New((*hierarchical.Options)(&o)) }},
	{"runtime", func(o Options) (hwt.Engine, error) {
		return runtimetimer.New(&runtimetimer.Options{Name: o.Name, RecordCallers: o.RecordCallers,
			Executor: o.Executor, Logger: o.Logger, ErrorHandler: o.ErrorHandler})
	}},
}

// Named returns the engine of that name.
func Named(name string) (Engine, error) {
	names := make([]string, len(All))
	for i, e := range All {
		if names[i] = e.Name; e.Name == name {
			return e, nil
		}
	}
	return Engine{}, fmt.Errorf("-engine: %q (expected: %s)", name, strings.Join(names, ", "))
}
