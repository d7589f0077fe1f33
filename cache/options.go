package cache

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
)

// Options are the settings of a [Cache]. The zero value of each field is the default.
type Options[K comparable, V any] struct {
	// Limit is the largest number of entries, from 1 to 1<<30. A Set or GetOrFetch of a new
	// key beyond the limit evicts an entry that has not been used recently, by the SIEVE
	// algorithm; Get, GetOrFetch, Touch and Set are uses. 0 is the default: no limit.
	Limit int

	// Sliding is the idle time after which an entry expires; Get, GetOrFetch, Touch, and
	// Set are uses. Even an entry in use expires after the TTL. To save writes, the cache
	// postpones the expiry in steps of a thousandth of Sliding, so an unused entry may live
	// longer by that much. The default, 0, means that only the TTL counts.
	Sliding time.Duration

	// Jitter shortens each TTL by a random share, as [hwt.Jitter] does, from 0, the default, up to
	// but excluding 1, so that entries set together do not expire together. With 0.05, an entry set
	// for a minute expires after 57 to 60 seconds. Jitter must be 0 with ExactExpiry or Sliding.
	Jitter float64

	// RefreshAhead is the rest of the TTL in which GetOrFetch and GetOrFetchWithTTL return the
	// entry and fetch the value again on another goroutine, so that the callers of an entry in
	// use never wait. The TTL is then the longest age of a value, and the TTL less RefreshAhead
	// the age from which it is stale. A key has one refresh under way at most. The context of a
	// refresh has the values of the caller's context but not the end. If a refresh fails, the
	// entry stays until its TTL ends, and the next GetOrFetch tries again; the error is
	// discarded, but a panic is logged. An entry with [NoExpiry] is never refreshed. The
	// default, 0, means no refresh.
	RefreshAhead time.Duration

	// ExactExpiry makes lookups read the clock, so that a lookup never returns a due entry,
	// even if the timer is late. By default, an entry can be found until the timer expires
	// the entry, up to a tick and a millisecond late. With Sliding, and after the timer is
	// stopped, expiry is always exact.
	ExactExpiry bool

	// Timer expires the entries. A cache takes one pending timeout for all entries. Caches may
	// share a timer with each other and with other code; Close does not stop a shared timer.
	// nil is the default: a hashedwheel.Timer for this cache, with a tick of 100 ms. Close
	// stops that timer.
	Timer hwt.Timer

	// OnEvict is called once with every value that leaves the cache, and the
	// reason. nil is the default: no calls.
	//
	// OnEvict is called after the value has left, and may use the cache. For an entry that
	// the timer expires, OnEvict runs where the timer runs tasks. Otherwise OnEvict runs on
	// the goroutine that ended the entry, before the call returns. A panic is logged, and
	// so is a call that ends the goroutine; the rest of a Clear or Close is then reported
	// on another goroutine.
	OnEvict func(key K, value V, reason Reason)

	// Logger receives panics of OnEvict, and warnings of the cache and the timer. nil is
	// the default: slog.Default at the time of New.
	Logger *slog.Logger

	// Name identifies the cache in the log and in String, and names the timer. "" is the
	// default: "cache".
	Name string
}

// maxLimit is the largest Limit: slots have numbers of 32 bits.
const maxLimit = 1 << 30

// complete returns the options with the defaults filled in, or an error.
func complete[K comparable, V any](options *Options[K, V]) (o Options[K, V], err error) {
	if options != nil {
		o = *options
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Name = cmp.Or(o.Name, "cache")
	switch {
	case o.Limit < 0 || o.Limit > maxLimit:
		err = check.Invalid("cache", "Limit", o.Limit, fmt.Sprintf("0 for no limit, or 1 to %d", maxLimit))
	case o.Sliding < 0:
		err = check.Invalid("cache", "Sliding", o.Sliding, "0 for none, or more")
	case o.RefreshAhead < 0:
		err = check.Invalid("cache", "RefreshAhead", o.RefreshAhead, "0 for none, or more")
	case !(o.Jitter >= 0 && o.Jitter < 1): // rejects NaN, too
		err = check.Invalid("cache", "Jitter", o.Jitter, "0 <= Jitter < 1")
	case o.Jitter != 0 && (o.ExactExpiry || o.Sliding > 0):
		err = check.Invalid("cache", "Jitter", o.Jitter, "0 with ExactExpiry or Sliding")
	default:
		err = check.NotTypedNil("cache", "Timer", o.Timer, "nil for the cache's own timer, or a timer")
	}
	return o, err
}
