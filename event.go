package hwt

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/embedded"
)

// Errors of events. Test for them with [errors.Is]. Both match ErrInvalid.
var (
	// ErrEventNotInitialized is returned by [Event.Arm] before [Event.Init].
	ErrEventNotInitialized = check.Errorf("hwt: event is not initialized: call Init before Arm")

	// ErrEventInitialized is returned by a second [Event.Init].
	ErrEventInitialized = check.Errorf("hwt: event is initialized already: call Init once, and then only Arm")
)

// Event is a timeout that lives in the waiting object: 48 bytes on 64-bit machines. An
// Event is initialized once and then armed any number of times, without an allocation on
// the timers of this module:
//
//	type session struct {
//		idle hwt.Event
//		// …
//	}
//
//	err := s.idle.Init(timer, s) // s is the TimerTask
//	err = s.idle.Arm(time.Minute) // arms, or moves the deadline
//	s.idle.Cancel() // reports whether it prevented the run
//
// Each successful Arm ends exactly once, in one of four ways: the event fires and the task
// runs; Cancel returns true; a later Arm or Reset overtakes the Arm; or Stop returns the
// event. Cancel, Arm, Reset, and the expiry are linearizable.
//
// The task receives the event as its Timeout. All, Stop, and the error handler of an
// [EventTimer] show the event itself, too. The methods of [Timeout] describe the latest
// Arm.
//
// All methods except Init are safe for concurrent use, including in the event's own task.
// If the task arms the event, the next run may overlap with the current run only if the
// tasks run on an executor or on an engine without a worker. A Cancel that comes after the
// event fired returns false and waits for no task.
//
// Hazards:
//
//   - An Event must not be copied or overwritten after Init; go vet finds copies. Methods
//     of a copy panic in most cases.
//   - An object may be reused, for example through a [sync.Pool], without another Init: the
//     memory of an Event stays valid for Arm at any time. It must not be cleared.
//   - While an event is pending, the timer keeps alive the event, and the object that the event
//     is a field of. After the end of an event on a timing wheel that lasts for up to one
//     tick while the worker keeps up. An event in turn keeps its timer alive.
//   - No notification follows a Cancel: an event's [CancelledTask] is not told. RecordCallers
//     does not record an Arm.
//
// The zero Event has no timer: Arm returns an error, and all other methods report that
// the event is not pending.
type Event struct {
	word  atomic.Int64 // The engine's. Its type aligns an Event on 32-bit machines, and lets go vet find copies.
	chunk uint32       // The engine's.
	entry uint8        // The engine's.
	stamp uint8        // From embedded.Stamp; 0 before Init. Immutable after Init.
	marks uint16       // The engine's.
	link  unsafe.Pointer
	task  TimerTask                      // Immutable after Init.
	home  *embedded.Home[Event, Timeout] // Immutable after Init.
}

var _ Timeout = (*Event)(nil)

// EventTimer is a Timer that supports events without an allocation per Arm. All engines do.
// A wrapper should implement EventTimer if the timer below does, for example with a task
// that calls the given task.
type EventTimer interface {
	Timer

	// InitEvent implements [Event.Init]. The task will be called with the event as its
	// Timeout.
	InitEvent(event *Event, task TimerTask) error
}

// Init gives the event a timer and a task. Init may be called once per Event, before the
// event is shared with other goroutines. Init does not arm the event.
//
// If timer does not implement [EventTimer], Arm calls timer.NewTimeout whenever the event is
// not pending, and that allocates.
//
// Init returns [ErrNilTask] if task is nil, [ErrEventInitialized] after a first Init, and
// an error that matches [ErrInvalid] if timer is nil.
func (e *Event) Init(timer Timer, task TimerTask) error {
	if err := check.NotNil("hwt", "Event.Init", "timer", timer, "the timer that runs the task"); err != nil {
		return err
	}
	if t, ok := timer.(EventTimer); ok {
		return t.InitEvent(e, task)
	}
	switch {
	case e.stamp != 0:
		return ErrEventInitialized
	case isNilTask(task):
		return ErrNilTask
	}
	e.task, e.home = task, newOrdinary(timer)
	e.stamp = embedded.Stamp(unsafe.Pointer(e))
	return nil
}

// host returns the engine of e, or nil before Init. It panics if e is a copy.
func (e *Event) host() embedded.Host[Event, Timeout] {
	if e.stamp != embedded.Stamp(unsafe.Pointer(e)) {
		if e.stamp != 0 {
			panic("hwt: Event was copied after Init: use a pointer to the object that it is a field of")
		}
		return nil
	}
	return e.home.Host
}

// Arm lets the event fire once, delay from now, where delay has the same meaning as in
// NewTimeout. If the event is pending, Arm moves the deadline. Otherwise, for example
// because the event has fired or was cancelled, the event is pending again.
//
// Arm returns [ErrStopped] if the timer is stopped, [ErrEventNotInitialized] before Init,
// and a *[PendingLimitError] if the event was not pending and the timer's pending limit is
// reached; concurrent calls for one event may need a place each for a moment. On an error
// nothing has changed. If Stop is called concurrently, either Arm returns ErrStopped, or
// the event ends first, or Stop returns the event. Arm panics in another synctest bubble,
// as NewTimeout does.
//
// On a timing wheel, moving a deadline to a later time is one atomic operation. An event
// that is armed and cancelled any number of times between two ticks costs the worker as
// much as one.
func (e *Event) Arm(delay time.Duration) error {
	host := e.host()
	if host == nil {
		return ErrEventNotInitialized
	}
	return host.Arm(e, delay)
}

// Reset implements [Timeout]: Reset moves the deadline if the event is pending. Otherwise
// Reset returns false and has no effect.
func (e *Event) Reset(delay time.Duration) bool {
	host := e.host()
	return host != nil && host.Reset(e, delay)
}

// Cancel prevents the run for which the event was armed. Cancel returns true if the event
// was pending. It returns false otherwise, for example if the event has fired.
func (e *Event) Cancel() bool {
	host := e.host()
	return host != nil && host.Cancel(e)
}

// Timer implements [Timeout]. It returns nil before Init.
func (e *Event) Timer() Timer {
	if t := e.timeout(); t != nil {
		return t.Timer()
	}
	return nil
}

// Task implements [Timeout]. It returns nil before Init.
func (e *Event) Task() TimerTask { return e.task }

// Deadline implements [Timeout]. It is the zero Time if the event was never armed.
func (e *Event) Deadline() time.Time {
	if t := e.timeout(); t != nil {
		return t.Deadline()
	}
	return time.Time{}
}

// IsExpired implements [Timeout]: it reports whether the latest Arm ended because the
// event fired.
func (e *Event) IsExpired() bool {
	t := e.timeout()
	return t != nil && t.IsExpired()
}

// IsCancelled implements [Timeout]: it reports whether the latest Arm ended by Cancel or
// Stop.
func (e *Event) IsCancelled() bool {
	t := e.timeout()
	return t != nil && t.IsCancelled()
}

// timeout returns the engine's timeout of e, or nil.
func (e *Event) timeout() Timeout {
	if host := e.host(); host != nil {
		return host.Timeout(e)
	}
	return nil
}

// String describes the event as a Timeout of its engine does, for example "timeout(in
// 4.99s, task *shop.session)".
func (e *Event) String() string {
	if t, ok := e.timeout().(interface{ String() string }); ok {
		return t.String()
	}
	return "timeout(not initialized)"
}

func isNilTask(task TimerTask) bool {
	switch f := task.(type) {
	case nil:
		return true
	case TaskFunc:
		return f == nil
	case ContextTaskFunc:
		return f == nil
	}
	return false
}
