package hwt

import (
	"math"
	"math/rand/v2"
	"time"
)

// Jitter returns a random duration from d down to d less the given fraction, so that timeouts
// scheduled together do not expire together: Jitter(time.Minute, 0.1) is 54 to 60 seconds. A
// fraction of 1 or more means from 0 to d; with a fraction of 0 or less, or NaN, or a d that
// is not positive, the result is d. The longest Duration stays unchanged: package cache uses
// it for "never".
//
// Use Jitter for the delay of any timeout, and for a TTL. Jitter is safe for concurrent
// use.
func Jitter(d time.Duration, fraction float64) time.Duration {
	if d <= 0 || d == math.MaxInt64 || !(fraction > 0) {
		return d
	}
	most := d // of the share, rounded down: float64(d) may be more than d
	if fraction < 1 {
		most = min(time.Duration(float64(d)*fraction), d)
	}
	return d - rand.N(most+1)
}

// Backoff determines the pauses between the attempts at something that fails: the pauses
// double, and are random, so that the clients of a failed server do not all return
// together. The zero Backoff is usable. A Backoff holds no state and may be shared.
type Backoff struct {
	// Base is the longest pause after the first attempt. 0, the default, or less means 1 s.
	Base time.Duration

	// Max is the longest of all pauses. 0, the default, or less means 10 minutes, or Base if
	// that is longer. Max may be less than Base.
	Max time.Duration
}

// Delay returns the pause after the given number of failed attempts: a random duration from
// 0 to Base times 2^(failed-1), but at most Max. A number below 1 counts as 1.
func (b Backoff) Delay(failed int) time.Duration { return Jitter(b.limit(failed), 1) }

// limit returns the longest pause after failed attempts.
func (b Backoff) limit(failed int) time.Duration {
	base, most := b.Base, b.Max
	if base <= 0 {
		base = time.Second
	}
	if most <= 0 {
		most = max(10*time.Minute, base)
	}
	if shift := max(failed, 1) - 1; base <= most>>shift {
		most = base << shift
	}
	return min(most, math.MaxInt64-1) // not "never"
}
