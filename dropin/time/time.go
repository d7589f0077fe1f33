// Package time replaces the standard library's package time. It has the same names, and
// a wheel runs its timers, tickers, and sleeps. See package dropin for the differences
// and for advice on when to use it.
package time

import (
	"time"

	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// Timer is a [time.Timer] on the wheel or, in a synctest bubble, a runtime timer.
// Its methods are safe for concurrent use.
type Timer struct {
	C <-chan Time // Delivers the timer's deadline when it passes. Nil for AfterFunc.

	timer interface { // A *time.Timer or a *clock.Timer. Nil in the zero value. Immutable.
		Stop() bool
		Reset(Duration) bool
	}
}

// NewTimer is [time.NewTimer] on the wheel.
func NewTimer(d Duration) *Timer {
	c := shared.Clock()
	if c == nil {
		t := time.NewTimer(d)
		return &Timer{C: t.C, timer: t}
	}
	t := c.NewTimer(d)
	return &Timer{C: t.C, timer: t}
}

// AfterFunc is [time.AfterFunc] on the wheel. Outside a synctest bubble, it panics if f is
// nil.
func AfterFunc(d Duration, f func()) *Timer {
	c := shared.Clock()
	if c == nil {
		return &Timer{timer: time.AfterFunc(d, f)}
	}
	return &Timer{timer: c.AfterFunc(d, f)}
}

// After is [time.After] on the wheel. Its channel and timeout stay in memory until the
// deadline.
func After(d Duration) <-chan Time {
	c := shared.Clock()
	if c == nil {
		return time.After(d)
	}
	return c.After(d)
}

// Stop is [time.Timer.Stop].
func (t *Timer) Stop() bool {
	t.check("Stop")
	return t.timer.Stop()
}

// Reset is [time.Timer.Reset].
func (t *Timer) Reset(d Duration) bool {
	t.check("Reset")
	return t.timer.Reset(d)
}

func (t *Timer) check(method string) {
	if t.timer == nil {
		panic("time: " + method + " called on uninitialized Timer")
	}
}

// Sleep is [time.Sleep] on the wheel.
func Sleep(d Duration) {
	if c := shared.Clock(); c != nil {
		c.Sleep(d)
		return
	}
	time.Sleep(d)
}
