// Package cache provides a cache whose entries expire: after a TTL, when they have
// not been used for a time, or when there are too many of them:
//
//	prices, err := cache.New(10*time.Minute, &cache.Options[string, int]{Limit: 10_000})
//	price, err := prices.GetOrFetch(ctx, "tea", func(ctx context.Context) (int, error) { return shop.Price(ctx, "tea") })
//	prices.Delete("tea") // the price has changed
//
// Use it for values that are expensive to fetch and may be outdated for a while,
// and for things that expire, such as sessions. It follows collection.Cache of
// go-zero and runs on any [hwt.Timer].
//
// # Guarantees
//
//   - An entry does not expire before its TTL, unless the cache has a jitter,
//     which shortens it, or Sliding, and the entry was not used for that time.
//   - It expires at most a tick (100 ms by default) plus a millisecond late, and
//     later only if the timer is late. With ExactExpiry, look-ups read the clock
//     and are exact.
//   - If the timer is stopped, or refuses the cache's timeout, no entry lives
//     longer for that: look-ups then read the clock.
//   - [Cache.GetOrFetch] fetches a missing value once for all concurrent callers. A Set
//     or Delete overtakes the fetch: after Delete(key) has returned, no fetch that
//     began before it stores the old value.
//   - Get, Set, SetIfAbsent, Touch and Delete are linearizable. Every value that
//     leaves the cache is reported to OnEvict once, with the reason.
//
// # Cost
//
// Get takes no lock, with or without a limit. It allocates nothing, and writes
// only a counter that few goroutines share. A Set of a known key allocates the
// new entry and nothing else; a Set of a new key also takes the lock that its key
// shares with others, or with all others if there is a limit. An entry with an
// int64 key and a pointer takes about 90 bytes of heap, and 16 more with a limit.
//
// All entries share one timeout of the timer, which expires when the first of
// them may be due. The timer sleeps while nothing expires.
//
// A cache with a limit evicts by SIEVE (Zhang et al., NSDI 2024), which needs no
// lock for look-ups. Its hit rate is that of an LRU or better on skewed traces
// and on scans; it is slower to forget a working set that is no longer used.
//
// # Differences from go-zero
//
// Keys and values are typed. There is no jitter by default. Set returns an error
// if the timer cannot expire its entry. A TTL of zero or less stores nothing; in
// go-zero such an entry stays forever. A fetched value does not overwrite one
// that was set in the meantime. Close leaves no goroutine.
//
// Fetches are not joined by golang.org/x/sync/singleflight, because its keys are
// strings and a Set cannot overtake its calls.
package cache
