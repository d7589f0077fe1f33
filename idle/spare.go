package idle

import (
	"sync/atomic"
	"time"
)

// spare is an alarm on one of Go's own timers. It stands in for a timeout when
// the reaper's timer is at its limit: a connection that nobody watches would
// stay for ever, which is worse than one timer more for a whole cohort.
type spare struct {
	timer *time.Timer // Immutable after newSpare.
	fired atomic.Bool // Atomic: written by the timer, read under shard.mu.
}

func newSpare(delay time.Duration, look func()) *spare {
	s := &spare{}
	s.timer = time.AfterFunc(delay, func() {
		s.fired.Store(true)
		look()
	})
	return s
}

// IsExpired, like the others, means what it means for hwt.Timeout.
func (s *spare) IsExpired() bool { return s.fired.Load() }

func (s *spare) IsCancelled() bool { return false }
func (s *spare) Cancel() bool      { return s.timer.Stop() }

func (s *spare) Reset(delay time.Duration) bool {
	pending := s.timer.Stop()
	if pending {
		s.timer.Reset(delay)
	}
	return pending
}
