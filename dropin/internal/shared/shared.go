// Package shared holds the clock of the packages of dropin.
package shared

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/runtimetimer"
)

var (
	mu      sync.Mutex                  // Guards the change of current.
	current atomic.Pointer[clock.Clock] // Set once. Atomic: written under mu, read by all.
)

// Clock returns the clock and creates it on the first call. It returns nil in a
// synctest bubble, where the caller must use the standard library.
func Clock() *clock.Clock {
	if enginekit.InBubble() {
		return nil
	}
	if c := current.Load(); c != nil {
		return c
	}
	return makeClock()
}

// ClockOrOwn is [Clock], but returns a new clock on runtime timers in a synctest bubble.
func ClockOrOwn() *clock.Clock {
	if c := Clock(); c != nil {
		return c
	}
	timer, err := runtimetimer.New(nil)
	var c *clock.Clock
	if err == nil {
		c, err = clock.New(timer, nil)
	}
	if err != nil {
		panic("dropin: " + err.Error()) // Cannot happen: these are the defaults.
	}
	return c
}

func makeClock() *clock.Clock {
	mu.Lock()
	defer mu.Unlock()
	if c := current.Load(); c != nil {
		return c
	}
	// The leak detector never reports a timer that a variable refers to.
	const tick = time.Millisecond
	timer, err := hierarchical.New(&hierarchical.Options{TickDuration: tick, Name: "dropin", DisableLeakDetection: true})
	if err == nil {
		err = set(timer, tick)
	}
	if err != nil {
		panic("dropin: " + err.Error()) // Cannot happen: these options are in range.
	}
	return current.Load()
}

// Use creates the clock on timer. tick is the tick of timer.
func Use(timer hwt.Timer, tick time.Duration) error {
	if tick < 0 {
		return check.Errorf("dropin: Use: tick is %v (expected: 0 for none, or more)", tick)
	}
	mu.Lock()
	defer mu.Unlock()
	if current.Load() != nil {
		return errors.New("dropin: Use: a timer is already in use (expected: one call, before the first timer, sleep, or deadline)")
	}
	if err := set(timer, tick); err != nil {
		return fmt.Errorf("dropin: Use: %w", err)
	}
	return nil
}

// set creates the clock. Guarded by mu.
func set(timer hwt.Timer, tick time.Duration) error {
	c, err := clock.New(timer, &clock.Options{PanicsEndProgram: true, RuntimeBelow: 2 * min(tick, math.MaxInt64/2)})
	if err == nil {
		current.Store(c)
	}
	return err
}
