package keyed

import "github.com/hashedwheel/hwt/internal/check"

// defaultDrainWorkers is the default of DrainWorkers, as in go-zero.
const defaultDrainWorkers = 8

// Options are the settings of a [Wheel]. The zero value of each field is its
// default.
type Options[K comparable, V any] struct {
	// DrainWorkers is the number of concurrent callbacks of a Drain, at least 1.
	// 0 is the default, 8.
	DrainWorkers int

	// ErrorHandler is called with each pair whose callback failed or could not be
	// called. The error is a *[hwt.PanicError] if the callback panicked, and
	// [hwt.ErrGoexit] if it ended its goroutine; the pair has ended. Otherwise it
	// wraps the error with which the timer's executor rejected the callback; the
	// pair is pending and expires again after a second, and ErrorHandler may set,
	// move, or delete it. If the timer cannot schedule it again, the error wraps
	// the timer's error as well, and the pair stays in the wheel without a
	// timeout.
	//
	// ErrorHandler runs where the timer runs its tasks or, after a rejection, where the
	// timer calls the executor. It may be called concurrently. If it is nil, errors go
	// to the timer's error handler; their text names the key, except for
	// [hwt.ErrGoexit].
	ErrorHandler func(key K, value V, err error)
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
	return o, err
}
