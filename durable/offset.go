package durable

import (
	"sync/atomic"
	"time"
)

// offset is how far the server's clock is ahead of the store's, as last measured.
type offset struct {
	ahead atomic.Int64 // nanoseconds. Atomic: written by the watch, read by all.
	error atomic.Int64 // the most that ahead may be wrong by. Atomic: likewise.
	known atomic.Bool
}

// measured notes a server's time that was taken between before and after.
func (o *offset) measured(before, after, server time.Time) {
	middle := before.Add(after.Sub(before) / 2)
	o.ahead.Store(int64(server.Sub(middle)))
	o.error.Store(int64(after.Sub(before) / 2))
	o.known.Store(true)
}

// serverNow returns the server's time, as far as it is known. What goes to the
// server is computed with it; what fires goes by the store's own clock.
func (s *Store) serverNow() time.Time { return s.now().Add(time.Duration(s.offset.ahead.Load())) }
