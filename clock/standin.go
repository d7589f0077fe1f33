package clock

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// standIn is one of Go's own timers in place of a timeout that the timer
// refused. Package time and package context have no way to say no, and a
// deadline that never comes is worse than one that costs more.
type standIn struct {
	clock *Clock        // Immutable.
	task  hwt.TimerTask // Immutable.
	timer *time.Timer   // Immutable once armed; run does not read it.
	state atomic.Int32  // Atomic: pending, then expired or cancelled for good.
}

var _ hwt.Timeout = (*standIn)(nil)

const (
	pending int32 = iota
	expired
	cancelled
)

// standIn arms one, and tells why.
func (c *Clock) standIn(what hwt.TimerTask, d time.Duration, why error) hwt.Timeout {
	s := &standIn{clock: c, task: what}
	s.timer = time.AfterFunc(d, s.run)
	c.refused(s, why)
	return s
}

// refused reports a refusal. It runs under locks of the clock's, so the log and
// the handler are not called here if they could come back: they get a goroutine.
func (c *Clock) refused(s *standIn, why error) {
	const message = "clock: the timer refused a timeout, a runtime timer stands in"
	if c.config.onError != nil {
		err := fmt.Errorf(message+": %w", why)
		go c.runner.Run(s, hwt.TaskFunc(func(hwt.Timeout) error { return err }))
		return
	}
	c.refusal.Do(func() { go c.runner.Warn(message+" (logged once)", "error", why) })
}

func (s *standIn) run() {
	if s.state.CompareAndSwap(pending, expired) { // Linearization point of expiry.
		_ = s.task.Run(s) // the clock's tasks return no errors
	}
}

func (s *standIn) Timer() hwt.Timer    { return s.clock.timer }
func (s *standIn) Task() hwt.TimerTask { return s.task }
func (s *standIn) IsExpired() bool     { return s.state.Load() == expired }
func (s *standIn) IsCancelled() bool   { return s.state.Load() == cancelled }

func (s *standIn) Cancel() bool {
	if !s.state.CompareAndSwap(pending, cancelled) { // Linearization point of Cancel.
		return false
	}
	s.timer.Stop()
	return true
}

// Reset is called by one goroutine at a time. A Cancel in its midst is not lost:
// run looks at the state.
func (s *standIn) Reset(d time.Duration) bool {
	if !s.timer.Stop() {
		return false
	}
	s.timer.Reset(d)
	return true
}
