package keyed

import (
	"log/slog"
	"math"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Edges is a set of moments of a burst at which a [Debouncer] calls its callback.
type Edges uint8

const (
	Leading  Edges = 1 << iota // at the first event, with the event's value
	Trailing                   // at the end of the burst, with the value of the last event
)

// DebouncerOptions are the settings of a [Debouncer]. The zero value of each field is the
// default.
type DebouncerOptions[K comparable, V any] struct {
	// Edges selects the calls of a burst: Leading, Trailing, or both. The default, 0, means
	// Trailing. With both, a burst of one event has only the call of the leading edge, and
	// two calls for a key are at least the wait apart.
	Edges Edges

	// MaxWait is the greatest age of a burst, at least the wait. A burst of that age ends although
	// events keep coming. The default, 0, means no limit. With both Edges and a MaxWait equal to
	// the wait, a Debouncer limits the rate of the calls and loses no last value.
	MaxWait time.Duration

	// ErrorHandler is called as the ErrorHandler in [Options] is, for calls of the trailing
	// edge. A panic of a call of the leading edge goes to the caller of Trigger. nil is the
	// default: errors are logged with the key.
	ErrorHandler func(key K, value V, err error)

	// Logger receives errors if there is no ErrorHandler. nil is the default: slog.Default at
	// the time of NewDebouncer.
	Logger *slog.Logger

	// Name identifies the Debouncer in the log. "" is the default: "keyed".
	Name string
}

// complete returns the options with the defaults filled in, or an error about an option or
// wait.
func (o *DebouncerOptions[K, V]) complete(wait time.Duration) (c DebouncerOptions[K, V], err error) {
	if o != nil {
		c = *o
	}
	if c.Edges == 0 {
		c.Edges = Trailing
	}
	if c.MaxWait == 0 {
		c.MaxWait = math.MaxInt64
	}
	switch {
	case wait <= 0:
		err = check.Positive("keyed", "NewDebouncer", "wait", wait)
	case c.Edges > Leading|Trailing:
		err = check.InvalidIn("keyed", "DebouncerOptions", "Edges", c.Edges, "0 for the default, or Leading, Trailing, or both")
	case c.MaxWait < wait:
		err = check.InvalidIn("keyed", "DebouncerOptions", "MaxWait", c.MaxWait, "0 for no limit, or at least the wait of "+wait.String())
	}
	return c, err
}

// wheel returns the options of the Debouncer's wheel.
func (o *DebouncerOptions[K, V]) wheel() *Options[K, burst[V]] {
	own := &Options[K, burst[V]]{Logger: o.Logger, Name: o.Name}
	if handler := o.ErrorHandler; handler != nil {
		own.ErrorHandler = func(key K, b burst[V], err error) { handler(key, b.value, err) }
	}
	return own
}
