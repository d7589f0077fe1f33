package enginekit

import (
	"sync/atomic"
	"time"
)

// InBubble reports whether the caller runs in a synctest bubble. Only there, times have
// no monotonic clock reading.
func InBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}

// Clock counts the nanoseconds since Start by the monotonic clock or the bubble's clock. It
// binds a timer to the bubble in which the timer was made, or to the outside of all bubbles:
// times in other bubbles differ by decades, and timeouts would be lost. After Start, all
// methods are safe for concurrent use.
type Clock struct {
	start   time.Time     // Immutable after Start.
	inside  bool          // Start was called in a bubble. Immutable after Start.
	suspect atomic.Uint64 // Check inspects times from here on. Atomic: written by Check.
	latest  atomic.Int64  // The latest time that Check saw, if inside. Atomic: written by Check.
}

// plausible is the first limit of the times that Check trusts on a clock started outside.
const plausible = time.Minute

// Start starts the clock.
func (c *Clock) Start() {
	c.start, c.inside = time.Now(), InBubble()
	if !c.inside {
		c.suspect.Store(uint64(plausible))
	}
}

// Now returns the time since Start.
func (c *Clock) Now() int64 { return int64(time.Since(c.start)) }

// Time returns the wall time of deadline, a time of Now: the present plus the remaining
// time.
func (c *Clock) Time(deadline int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(deadline) - now.Sub(c.start))
}

// Deadline returns the time delay from now, or [Forever] if that is past the clock's
// range. It panics as Check does.
func (c *Clock) Deadline(delay time.Duration) int64 {
	now := c.Now()
	c.Check(now)
	return now + min(max(int64(delay), 0), Forever-now)
}

// Inside reports whether the clock was started in a bubble.
func (c *Clock) Inside() bool { return c.inside }

// Foreign reports whether the clock was started in a bubble and the caller is outside all
// bubbles. The caller must then not touch the bubble's channels and timers, or the runtime ends
// the process.
func (c *Clock) Foreign() bool { return c.inside && !InBubble() }

// Apart reports whether the caller and the clock are on different sides of a bubble's
// border. Their times then have nothing in common.
func (c *Clock) Apart() bool { return c.inside != InBubble() }

// CheckSide is Check, and trusts no time of a clock that was started outside. It costs a
// reading of the clock.
func (c *Clock) CheckSide() { c.look(c.Now()) }

// Check panics if the caller is in another bubble than the caller of Start, as far as
// now, a time from Now, shows. A clock started outside all bubbles trusts times up to a
// minute after Start or twice its age, whichever is later. That costs one comparison.
func (c *Clock) Check(now int64) {
	if uint64(now) >= c.suspect.Load() { // Negative ones, too: bubbles start in the year 2000.
		c.look(now)
	}
}

func (c *Clock) look(now int64) {
	switch inside := InBubble(); {
	case inside && !c.inside:
		panic("hwt: timer made outside this synctest bubble: make the timer inside it")
	case c.inside && !inside:
		panic("hwt: timer made inside a synctest bubble: it cannot be used outside")
	case c.inside:
		c.advance(now)
	default:
		c.suspect.Store(max(c.suspect.Load(), 2*uint64(now)))
	}
}

// advance panics if now is before the latest time seen, because the time of a bubble
// never goes back. The loop ends, because a failed compare-and-swap means that another
// call advanced.
func (c *Clock) advance(now int64) {
	for {
		latest := c.latest.Load()
		if now < latest {
			panic("hwt: timer made inside another synctest bubble: make the timer inside this one")
		}
		if c.latest.CompareAndSwap(latest, now) {
			return
		}
	}
}
