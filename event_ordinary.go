package hwt

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/embedded"
)

// ordinary makes an event of the timeouts of a timer without InitEvent. Each Arm of an
// event that is not pending schedules a timeout, with a task of its own.
type ordinary struct {
	embedded.Home[Event, Timeout]                       // First: events refer to it.
	timer                         Timer                 // Immutable.
	latest                        atomic.Pointer[armed] // nil before the first Arm. Atomic: written by Arm, read by all.
}

// armed is the task of one timeout of an event.
type armed struct {
	event   *Event  // Immutable.
	timeout Timeout // Immutable once this is the latest.
}

// Run implements TimerTask.
func (a *armed) Run(Timeout) error {
	_, task := split(a.event.task)
	return task.Run(a.event)
}

// Rejected implements RejectedTask.
func (a *armed) Rejected(_ Timeout, err error) error {
	_, task := split(a.event.task)
	if t, ok := task.(RejectedTask); ok {
		return t.Rejected(a.event, err)
	}
	return err
}

// split returns the parts of a task of OnExecutor, or nil and task.
func split(task TimerTask) (Executor, TimerTask) {
	if t, ok := task.(*onExecutor); ok {
		return t.OnExecutor()
	}
	return nil, task
}

// newOrdinary returns the home of an event on timer.
func newOrdinary(timer Timer) *embedded.Home[Event, Timeout] {
	o := &ordinary{timer: timer}
	o.Host = o
	return &o.Home
}

// Arm implements embedded.Host. The loop ends because another timeout becomes the latest
// only if another Arm succeeds.
func (o *ordinary) Arm(e *Event, delay time.Duration) error {
	for {
		was := o.latest.Load()
		if was != nil && was.timeout.Reset(delay) {
			return nil
		}
		next := &armed{event: e}
		executor, _ := split(e.task)
		timeout, err := o.timer.NewTimeout(OnExecutor(executor, next), delay)
		if err != nil {
			return err
		}
		next.timeout = timeout
		if o.latest.CompareAndSwap(was, next) || !timeout.Cancel() { // otherwise it has fired
			return nil
		}
	}
}

// Reset implements embedded.Host.
func (o *ordinary) Reset(_ *Event, delay time.Duration) bool {
	was := o.latest.Load()
	return was != nil && was.timeout.Reset(delay)
}

// Cancel implements embedded.Host.
func (o *ordinary) Cancel(*Event) bool {
	was := o.latest.Load()
	return was != nil && was.timeout.Cancel()
}

// Timeout implements embedded.Host.
func (o *ordinary) Timeout(e *Event) Timeout {
	if was := o.latest.Load(); was != nil {
		return was.timeout
	}
	return unarmed{timer: o.timer}
}

// unarmed is the timeout of an event before its first Arm. The event itself answers the other
// methods.
type unarmed struct {
	Timeout       // nil: Task, Cancel, and Reset are never called
	timer   Timer // Immutable.
}

// Timer implements Timeout.
func (u unarmed) Timer() Timer { return u.timer }

// Deadline returns the zero time: there was no Arm to set one.
func (unarmed) Deadline() time.Time { return time.Time{} }

// IsExpired returns false: nothing could expire.
func (unarmed) IsExpired() bool { return false }

// IsCancelled returns false: nothing could be cancelled.
func (unarmed) IsCancelled() bool { return false }

// String implements fmt.Stringer, in the form of the engines' timeouts.
func (unarmed) String() string { return "timeout(unarmed)" }
