// Package cache provides a cache with entries that expire after a TTL, after an idle time, or
// when the cache is full:
//
//	prices, err := cache.New(10*time.Minute, &cache.Options[string, int]{Limit: 10_000})
//	price, err := prices.GetOrFetch(ctx, "tea", shop.TeaPrice) // calls it if necessary
//	prices.Delete("tea")                                       // the price has changed
//
// Use a cache for values that are expensive to fetch and may be outdated for a while, and
// for things that expire, such as sessions. The package follows collection.Cache of go-zero
// and runs on any [hwt.Timer].
//
// # Guarantees
//
//   - An entry does not expire before its TTL, unless Jitter shortens the TTL, or
//     the entry is unused for the time of Sliding.
//   - It expires at most a tick (100 ms by default) plus a millisecond late,
//     unless the timer itself is late. With ExactExpiry, lookups read the clock
//     and are exact.
//   - If the timer is stopped, or rejects the cache's timeout, lookups read the clock. Entries
//     never outlive their TTL because of the timer.
//   - [Cache.GetOrFetch] fetches a missing value once for all concurrent callers.
//     A Set or Delete overtakes the fetch: after Delete(key) has returned, no fetch
//     that began before it stores the old value.
//   - Get, Set, SetIfAbsent, Touch and Delete are linearizable. Every value that
//     leaves the cache is reported to OnEvict once, with the reason.
//
// # Cost
//
// Get does not allocate, and takes a lock only for an entry that is due and not removed
// yet. Get writes a counter that few goroutines share. With a limit, Get also marks an
// unmarked entry as used, and with Sliding, Get also stores the new due time. A Set of a
// known key allocates only the new entry. A Set of a new key also takes a lock that the key
// shares with some other keys, or with all keys if there is a limit. An entry with an int64
// key and a pointer takes 80 to 90 bytes of heap, and 16 more with a limit. Removed entries
// release memory.
//
// All entries share one timeout of the timer. The timeout expires when the first entry may be
// due. The timer sleeps while no entry expires.
//
// A cache with a limit evicts by SIEVE (Zhang et al., NSDI 2024), which needs no lock for
// lookups. The hit rate equals an LRU's or is better on skewed traces and on scans. SIEVE
// is slower to forget a working set that is no longer used. A loop over more keys than the
// limit finds no entry, as with an LRU: each entry is evicted before its next lookup.
//
// # Differences from go-zero
//
// Keys and values are typed. There is no jitter by default. Set returns an error if the
// timer cannot expire the entry. A TTL of zero or less stores no entry; in go-zero such an
// entry stays forever. A fetched value does not overwrite a value that was set during the
// fetch. Close leaves no goroutine.
//
// Fetches are not joined by golang.org/x/sync/singleflight, because singleflight has string
// keys, and a Set cannot overtake a call.
package cache
