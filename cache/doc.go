// Package cache is an expiring cache: every entry goes when its time is over,
// and, with a limit, the longest unused goes when there are too many. It is
// go-zero's collection.Cache on a keyed wheel.
//
// # What it promises
//
// An entry never goes before its time, unless there is a limit. It goes when the
// timer says so: at its time or within a tick of it, which is 100 ms on the
// cache's own wheel, and later only if the timer trails. WithExactExpiry makes
// look-ups exact, at the cost of reading the clock. And an entry is never without
// a timeout: it is a pair of the keyed wheel, and there is no other place for it.
//
// Take fetches what is missing, once for all that ask at the same time. What a
// Set or Del overtakes is not stored: after Del(key) has returned, no fetch that
// began before it brings the old value back.
//
// # What it costs
//
// Get takes no lock, unless there is a limit, makes no allocation, and writes
// nothing but a counter that is the goroutine's own, or nearly. Set takes
// constant time and three or four allocations for a new key. The wheel behind it
// sleeps while nothing expires.
//
// # Differences from go-zero
//
// Keys and values are typed. Set reports an error where an entry could not be
// given a timeout; an expiry of zero or less stores nothing, instead of something
// that stays for ever. A value that was fetched does not overwrite one that was
// set meanwhile. Close leaves no goroutine.
//
// Fetches are not joined by golang.org/x/sync/singleflight, because its keys are
// strings, and because it cannot tell a fetch that it was overtaken.
package cache
