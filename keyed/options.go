package keyed

import (
	"cmp"
	"log/slog"

	"github.com/hashedwheel/hwt/internal/check"
)

// defaultDrainWorkers is the default of DrainWorkers, as in go-zero.
const defaultDrainWorkers = 8

// Options are the settings of a [Wheel]. The zero value of each field is the default.
type Options[K comparable, V any] struct {
	// DrainWorkers is the number of concurrent callbacks of a Drain, at least 1.
	// 0 is the default, 8.
	DrainWorkers int

	// ErrorHandler is called with each pair after the callback has failed or could not be
	// called. The error is a *[hwt.PanicError] if the callback panicked, and [hwt.ErrGoexit] if
	// the callback ended its goroutine; the pair has ended. Otherwise the error wraps the error
	// with which the timer's executor rejected the callback; the pair is pending and expires
	// again after a second, and ErrorHandler may set, move, or delete the pair. If the timer
	// cannot schedule the pair again, the error wraps the timer's error as well, and the pair
	// stays in the wheel without a timeout.
	//
	// ErrorHandler runs where the timer runs its tasks or, after a rejection, where the
	// timer calls the executor. ErrorHandler may be called concurrently. nil is the
	// default: errors are logged with the key.
	ErrorHandler func(key K, value V, err error)

	// Logger receives errors if there is no ErrorHandler. nil is the default: slog.Default at
	// the time of New.
	Logger *slog.Logger

	// Name identifies the wheel in the log and in String. "" is the default: "keyed".
	Name string
}

// complete returns the options with the defaults filled in, or an error.
func complete[K comparable, V any](options *Options[K, V]) (o Options[K, V], err error) {
	if options != nil {
		o = *options
	}
	switch {
	case o.DrainWorkers < 0:
		err = check.Invalid("keyed", "DrainWorkers", o.DrainWorkers, "0 for the default, or at least 1")
	case o.DrainWorkers == 0:
		o.DrainWorkers = defaultDrainWorkers
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Name = cmp.Or(o.Name, "keyed")
	return o, err
}
