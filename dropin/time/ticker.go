package time

import (
	"time"

	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// Ticker is a [time.Ticker] on the wheel or, in a synctest bubble, a runtime ticker.
// Its methods are safe for concurrent use. It stays in memory until it is stopped.
type Ticker struct {
	C <-chan Time // Delivers the deadline of each tick.

	ticker interface { // A *time.Ticker or a *clock.Ticker. Nil in the zero value. Immutable.
		Stop()
		Reset(Duration)
	}
}

// NewTicker is [time.NewTicker] on the wheel.
func NewTicker(d Duration) *Ticker {
	c := shared.Clock()
	if c == nil || d <= 0 { // Package time panics.
		t := time.NewTicker(d)
		return &Ticker{C: t.C, ticker: t}
	}
	t := c.NewTicker(d)
	return &Ticker{C: t.C, ticker: t}
}

// Tick is [time.Tick] on the wheel.
func Tick(d Duration) <-chan Time {
	c := shared.Clock()
	if c == nil {
		return time.Tick(d)
	}
	return c.Tick(d)
}

// Stop is [time.Ticker.Stop].
func (t *Ticker) Stop() {
	if t.ticker != nil {
		t.ticker.Stop()
	}
}

// Reset is [time.Ticker.Reset].
func (t *Ticker) Reset(d Duration) {
	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
	}
	if t.ticker == nil {
		panic("time: Reset called on uninitialized Ticker")
	}
	t.ticker.Reset(d)
}
