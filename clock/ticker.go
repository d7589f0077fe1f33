package clock

import (
	"sync"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/prefetch"
)

// Ticker is a time.Ticker on a Clock. Make one with NewTicker. Its methods are
// safe for concurrent use.
type Ticker struct {
	C <-chan time.Time // Tells when each tick was due.

	c          chan time.Time // C, to send to. Immutable.
	clock      *Clock         // Immutable.
	next, prev *Ticker        // in the flock's ring. Guarded by flock.mu.
	due        time.Duration  // the next tick. Guarded by flock.mu.

	mu    sync.Mutex // Before flock.mu.
	flock *flock     // Nil if stopped. Guarded by mu.
}

// NewTicker returns a ticker that sends the time at which each tick was due on
// its channel: first d from now, then every d, each up to a tick of the timer
// late. One tick waits for a slow receiver, what comes meanwhile is dropped, and
// the phase is kept. It panics if d is not positive.
//
// Stop the ticker when it is no longer needed: until then the timer holds it.
//
// Tickers of one period share a timeout, so a tick costs constant time, no
// allocation, and little but the send.
func (c *Clock) NewTicker(d time.Duration) *Ticker {
	if d <= 0 {
		panic("clock: non-positive interval for NewTicker")
	}
	ch := make(chan time.Time, 1)
	t := &Ticker{C: ch, c: ch, clock: c}
	t.flock = c.join(t, d)
	return t
}

// Tick returns the channel of a new ticker, which cannot be stopped, or nil if d
// is not positive.
func (c *Clock) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return c.NewTicker(d).C
}

// Stop ends the ticks. After it nothing is received from C, also not what was
// sent there before. It does not close C.
func (t *Ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
}

// Reset stops the ticker and gives it the period d, which begins now. It panics
// if d is not positive.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("clock: non-positive interval for Ticker.Reset")
	}
	if t.clock == nil {
		panic("clock: Reset called on uninitialized Ticker")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
	t.flock = t.clock.join(t, d)
}

// leave takes the ticker out of its flock, if it is in one. Guarded by mu.
func (t *Ticker) leave() {
	if t.flock != nil {
		t.flock.remove(t)
		t.flock = nil
	}
}

// tick sends the due time, as package time does, unless a tick is waiting already,
// and moves on to the first due time after now. Guarded by flock.mu.
func (t *Ticker) tick(now time.Time, at, period time.Duration) {
	select {
	case t.c <- now.Add(t.due - at):
	default:
	}
	t.due = due(t.due, period*(1+(at-t.due)/period))
}

// prefetch asks for the memory of those who tick next: the channel of the next
// one, and who comes after it. Since they last ticked, all of it has left the
// processor's caches. Guarded by flock.mu.
func (t *Ticker) prefetch() {
	prefetch.Lines(*(*unsafe.Pointer)(unsafe.Pointer(&t.next.c)))
	prefetch.Line(unsafe.Pointer(t.next.next))
}

// drain takes out a tick that was not received. Guarded by flock.mu.
func (t *Ticker) drain() {
	select {
	case <-t.c:
	default:
	}
}
