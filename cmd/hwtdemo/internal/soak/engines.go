package soak

import (
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// Engine makes timers of one kind.
type Engine struct {
	Name   string
	Worker bool // has one, which a load could outrun
	New    func(Options) (hwt.Engine, error)
}

// Options are the settings of a round's timer.
type Options struct {
	TickDuration time.Duration
	Workers      int          // of an engine that has any; 0: the default
	Executor     hwt.Executor // nil: none
	Logger       *slog.Logger
	ErrorHandler func(hwt.Timeout, error)
}

// Engines are the engines of the library.
var Engines = []Engine{
	{Name: "hashed", Worker: true, New: func(o Options) (hwt.Engine, error) {
		return hashedwheel.New(&hashedwheel.Options{
			TickDuration: o.TickDuration, Workers: o.Workers,
			Executor: o.Executor, Logger: o.Logger, ErrorHandler: o.ErrorHandler})
	}},
	{Name: "hierarchical", Worker: true, New: func(o Options) (hwt.Engine, error) {
		return hierarchical.New(&hierarchical.Options{
			TickDuration: o.TickDuration, Workers: o.Workers,
			Executor: o.Executor, Logger: o.Logger, ErrorHandler: o.ErrorHandler})
	}},
	{Name: "runtime", New: func(o Options) (hwt.Engine, error) {
		return runtimetimer.New(&runtimetimer.Options{
			Executor: o.Executor, Logger: o.Logger, ErrorHandler: o.ErrorHandler})
	}},
}
