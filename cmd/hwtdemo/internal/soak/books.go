package soak

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// books are what a timer says of itself while everything is in flight.
type books struct {
	last  hwt.Stats
	looks int64
	fault string // the first one, if any
}

// lookEvery is how often the books are looked at during a round.
const lookEvery = time.Millisecond

// look looks at the timer's books until the caller calls stop, which returns
// what was seen.
func look(timer Timer) (stop func() books) {
	quit, seen := make(chan struct{}), make(chan books)
	go func() {
		var b books
		pause := time.NewTicker(lookEvery)
		defer pause.Stop()
		for {
			b.see(timer.Stats(), timer.Pending())
			select {
			case <-pause.C:
			case <-quit:
				seen <- b
				return
			}
		}
	}()
	return func() books {
		close(quit)
		return <-seen
	}
}

// see notes a fault if, at whatever moment, more has ended than was accepted, or
// an end was taken back. accepted may fall: a refusal by Stop takes it back.
func (b *books) see(now hwt.Stats, pending int64) {
	b.looks++
	ends := now.Expired + now.Cancelled + now.Unprocessed
	fell := now.Expired < b.last.Expired || now.Cancelled < b.last.Cancelled || now.Unprocessed < b.last.Unprocessed
	switch {
	case b.fault != "":
	case ends > now.Accepted || now.Pending != now.Accepted-ends || pending < 0:
		b.fault = fmt.Sprintf("in the middle of the round %d were pending, by the counts %+v", pending, now)
	case fell:
		b.fault = fmt.Sprintf("in the middle of the round the counts went back: %+v, and before %+v", now, b.last)
	}
	b.last = now
}

// raise makes most at least v.
func raise(most *atomic.Int64, v int64) {
	for {
		now := most.Load()
		if v <= now || most.CompareAndSwap(now, v) {
			return
		}
	}
}
