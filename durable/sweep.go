package durable

import (
	"sync/atomic"
	"time"
)

const (
	// sweepEvery is the pause between two sweeps: looks at all rows within the lead, in place
	// of the rows behind the watermark only.
	sweepEvery = 5 * time.Second

	// doubtEvery is sweepEvery after a call that failed and may have stored entries. No Work
	// was notified of them.
	doubtEvery = 500 * time.Millisecond
)

// sweep is the request for a sweep. A role requests one when it has dropped a row that the database
// still has, or when the database has stored a row before the watermark.
type sweep struct {
	look      chan struct{} // wakes the fetcher; one element means look
	wanted    atomic.Bool   // rows before the watermark may be new
	unplanned atomic.Bool   // a leased row was dropped, and another worker may be able to claim it
}

// want makes a later look a sweep.
func (s *sweep) want() { s.wanted.Store(true) }

// wantNow makes the fetcher sweep now.
func (s *sweep) wantNow() {
	s.want()
	request(s.look)
}

// request wakes a goroutine that receives from c, now or later.
func request(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // already requested
	}
}
