package idle

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Options are the settings of a [Reaper]. The zero value of each field is its
// default.
type Options struct {
	// Activity selects the operations of a wrapped connection that are activity:
	// ActivityRead, ActivityWrite, or both. The default, 0, means both. With
	// ActivityRead alone, a peer that only receives is closed.
	Activity Activity

	// MaxAge is the age at which a connection or other closer is closed, even if active or
	// held. The close comes no earlier, and at most one tick later unless MaxAgeGrace
	// allows more. The default, 0, means no limit. MaxAge must not be negative.
	MaxAge time.Duration

	// MaxAgeGrace is the time by which a connection may exceed MaxAge while it is in use:
	// held, as by the handlers of package idlehttp, or active within the last 100 ms. The
	// default, 0, means that requests in progress at MaxAge are cut off. MaxAgeGrace must not
	// be negative.
	MaxAgeGrace time.Duration

	// TimeoutOf returns the idle timeout of c, the argument of Wrap or Watch. A
	// result of 0 or less means the reaper's timeout, as does a nil function, the
	// default. See also [Watch.SetTimeout].
	TimeoutOf func(c io.Closer) time.Duration

	// OnExpire is called before the reaper closes a connection or other closer that is idle
	// or too old, as Event.Reason tells. A touch does not prevent the close. OnExpire runs
	// on the closing goroutine, concurrently with other calls. If OnExpire panics or ends
	// the goroutine, the failure is reported and the close follows. The default, nil, means
	// no call.
	OnExpire func(Event)

	// CloseAll makes Reaper.Close close everything that is watched. Later arguments
	// of Wrap and Watch are closed immediately. By default they stay open.
	CloseAll bool

	// ErrorHandler is called with these errors, wrapped:
	//
	//   - a *[hwt.PanicError] or [hwt.ErrGoexit] if OnExpire or a Close panics or ends
	//     its goroutine,
	//   - the errors that Close returns, except net.ErrClosed,
	//   - [hwt.ErrTooManyPending] if a runtime timer replaces a timeout,
	//   - the other errors of the timer, such as [hwt.ErrStopped], and
	//     [ErrClosed], if a connection or other closer is not watched.
	//
	// ErrorHandler must not block, because the call may be on the timer's worker or in
	// Wrap, and must be safe for concurrent use. nil is the default: errors are logged,
	// errors of Close at debug level, and only the first error of the last two kinds.
	ErrorHandler func(error)

	// Logger receives errors if ErrorHandler is nil or does not return. nil is the default:
	// slog.Default at the time of New.
	Logger *slog.Logger

	// Name identifies the reaper in the log. "" is the default: "idle".
	Name string
}

// Activity is a set of operations of a wrapped connection.
type Activity uint8

// The operations that can be activity.
const (
	ActivityRead  Activity = 1 << iota // reads of at least one byte
	ActivityWrite                      // writes of at least one byte
)

// Event is the argument of [Options.OnExpire].
type Event struct {
	Closer  io.Closer     // the connection that Wrap returned, or the argument of Watch; closed after OnExpire
	Reason  error         // ErrIdle or ErrTooOld
	Idle    time.Duration // time since the last activity
	Age     time.Duration // time since Wrap, Accept, or Watch
	Timeout time.Duration // the idle timeout; Idle - Timeout is the reaper's lateness
}

// complete returns the options with the defaults filled in, or an error.
func complete(options *Options) (o Options, err error) {
	if options != nil {
		o = *options
	}
	if o.Activity&^(ActivityRead|ActivityWrite) != 0 {
		return o, check.Invalid("idle", "Activity", o.Activity, "0 for the default, ActivityRead, ActivityWrite, or both")
	}
	if err := check.NotNegative("idle", "MaxAge", o.MaxAge, "no limit"); err != nil {
		return o, err
	}
	if err := check.NotNegative("idle", "MaxAgeGrace", o.MaxAgeGrace, "none"); err != nil {
		return o, err
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
	o.Name = cmp.Or(o.Name, "idle")
	return o, nil
}
