package idle

import (
	"io"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Options are the settings of a [Reaper]. The zero value of each field is its
// default.
type Options struct {
	// Activity selects the operations of a wrapped connection that are activity:
	// ActivityRead, ActivityWrite or both. 0 is the default, both. With ActivityRead alone, a peer that
	// only receives is closed.
	Activity Activity

	// MaxAge is the age at which a connection or other thing is closed, even if it
	// is active or held: no earlier, and at most one tick later. 0, the default,
	// means no limit. It must not be negative.
	MaxAge time.Duration

	// TimeoutOf returns the idle timeout of a connection given to Wrap, or of what
	// Watch was given. 0 or less means that of the reaper, as does a nil function,
	// the default. See also [Watch.SetTimeout].
	TimeoutOf func(c io.Closer) time.Duration

	// OnIdle is called before something is closed for being idle or too old, which
	// a touch can no longer prevent. It runs on the goroutine that closes, and
	// concurrently with other calls of it. If it panics or ends its goroutine,
	// that is reported, and the close follows. nil, the default, means no call.
	OnIdle func(Event)

	// CloseAll makes Reaper.Close close everything that is watched, and what is
	// given to the reaper afterwards. By default it stays open.
	CloseAll bool

	// ErrorHandler is called with
	//
	//   - a *[hwt.PanicError] or [hwt.ErrGoexit] for an OnIdle or a Close that
	//     panics or ends its goroutine,
	//   - the errors that Close returns, except net.ErrClosed,
	//   - [hwt.ErrTooManyPending], when one of Go's own timers replaces a timeout,
	//   - the other errors of the timer, such as [hwt.ErrStopped], and
	//     [ErrClosed], when something is not watched,
	//
	// all of them wrapped. It must not block, because it may run on the timer's
	// worker or in Wrap, and it must be safe for concurrent use. nil is the
	// default: each of the first kind is logged, none of the second, and of the
	// others only the first.
	ErrorHandler func(error)

	// Logger receives what is logged if there is no ErrorHandler, or it does not
	// return. nil is the default: slog.Default at the time of NewReaper.
	Logger *slog.Logger
}

// Activity is a set of operations of a wrapped connection.
type Activity uint8

// The operations that can be activity.
const (
	ActivityRead  Activity = 1 << iota // reads that return at least one byte
	ActivityWrite                      // writes that take at least one byte
)

// Event is the argument of [Options.OnIdle].
type Event struct {
	Closer  io.Closer     // what will be closed: the connection as Wrap returned it, or the argument of Watch
	Reason  error         // ErrIdle or ErrTooOld
	Idle    time.Duration // since the latest activity
	Age     time.Duration // since Wrap, Accept or Watch
	Timeout time.Duration // the idle timeout; Idle - Timeout is how late the reaper is
}

// complete returns the options with the defaults filled in, or an error.
func complete(options *Options) (o Options, err error) {
	if options != nil {
		o = *options
	}
	if o.Activity&^(ActivityRead|ActivityWrite) != 0 {
		return o, check.Invalid("idle", "Activity", o.Activity, "0 for the default, ActivityRead, ActivityWrite or ActivityRead|ActivityWrite")
	}
	if o.MaxAge < 0 {
		return o, check.Invalid("idle", "MaxAge", o.MaxAge, "0 for no limit, or a positive duration")
	}
	if o.Activity == 0 {
		o.Activity = ActivityRead | ActivityWrite
	}
	if o.MaxAge == 0 {
		o.MaxAge = never
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}
