package clock

import (
	"sync"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// Ticker is a [time.Ticker] on a [Clock]. Create one with [Clock.NewTicker]. Its
// methods are safe for concurrent use.
type Ticker struct {
	C <-chan time.Time // Delivers the time at which each tick was due.

	c          chan time.Time // C, to send to. Immutable.
	clock      *Clock         // Immutable.
	next, prev *Ticker        // In a ring of the group. Guarded by group.mu.
	due        time.Duration  // The time of the next tick. Guarded by group.mu.

	mu    sync.Mutex   // Locked before group.mu.
	group *tickerGroup // Nil if stopped. Guarded by mu.
}

// NewTicker returns a ticker that sends the time at which each tick was due on its channel:
// first when d has passed, then every d, each up to one tick of the timer late. If the
// receiver is slow, one tick waits for the receiver, and later ticks are discarded; the
// phase is kept. NewTicker panics if d is not positive.
//
// The timer refers to the ticker until it is stopped. Tickers of one period share
// a timeout, so a tick takes constant time and does not allocate.
func (c *Clock) NewTicker(d time.Duration) *Ticker {
	if d <= 0 {
		panic("clock: non-positive interval for NewTicker")
	}
	ch := make(chan time.Time, 1)
	t := &Ticker{C: ch, c: ch, clock: c}
	t.group = c.join(t, d)
	return t
}

// Tick returns the channel of a new ticker that cannot be stopped. It returns nil if d is not
// positive.
func (c *Clock) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return c.NewTicker(d).C
}

// Stop ends the ticks. Afterwards no tick is received from C, not even one sent there
// before. Stop does not close C.
func (t *Ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
}

// Reset stops the ticker and starts the ticker again with the period d. Reset panics if d
// is not positive.
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
	t.group = t.clock.join(t, d)
}

// leave removes the ticker from its group, if there is one. Guarded by mu.
func (t *Ticker) leave() {
	if t.group != nil {
		t.group.remove(t)
		t.group = nil
	}
}

// tick sends the due time, unless an earlier tick is still waiting, and moves due
// to the first multiple of the period after now. Guarded by group.mu.
func (t *Ticker) tick(now time.Time, at, period time.Duration) {
	select {
	case t.c <- now.Add(t.due - at):
	default:
	}
	t.due = due(t.due, period*(1+(at-t.due)/period))
}

// prefetch requests the memory of the tickers that tick next: the channel of the next
// ticker, and the ticker after the next. In a large group, that memory has left the
// processor's caches since the last tick. Guarded by group.mu.
func (t *Ticker) prefetch() {
	cacheline.PrefetchPair(*(*unsafe.Pointer)(unsafe.Pointer(&t.next.c)))
	cacheline.Prefetch(unsafe.Pointer(t.next.next))
}

// drain removes a tick that was not received. Guarded by group.mu.
func (t *Ticker) drain() {
	select {
	case <-t.c:
	default:
	}
}
