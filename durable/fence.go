package durable

import "time"

// moment is a time on two clocks. The monotonic clock stands still while a
// virtual machine is suspended, and the wall clock can be set; what has passed is
// the larger of the two.
type moment struct {
	mono time.Time
	wall int64
}

// stamp returns the present.
func stamp(s *Store) moment { return moment{time.Now(), s.now().UnixNano()} }

// since returns how much time has passed since m, at least.
func (s *Store) since(m moment) time.Duration {
	return max(time.Since(m.mono), time.Duration(s.now().UnixNano()-m.wall))
}

// fenceMargin is how long before the end of the server's patience a lease ends
// here.
const fenceMargin = 500 * time.Millisecond

// leaseTime is how long a lease lasts from when it was asked for.
func (s *Store) leaseTime() time.Duration { return ackWait(s.lead) - fenceMargin }

// left returns how much is left of a lease that was asked for, or last renewed, at
// m. The server may have sent the message at any time since, so that a process
// that was paused does not take an old message for a new one.
func (s *Store) left(m moment) time.Duration { return s.leaseTime() - s.since(m) }
