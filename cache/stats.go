package cache

// Stats is a snapshot of a cache's counts.
type Stats struct {
	Hits        int64 // lookups by Get or GetOrFetch that found an entry
	Misses      int64 // lookups without a result, including lookups that joined a fetch
	Evictions   int64 // entries with reason ReasonCapacity
	Expirations int64 // entries with reason ReasonExpired
}

// Stats returns a snapshot of the counts. Stats takes time proportional to the number of
// processors.
func (c *Cache[K, V]) Stats() Stats {
	hits, misses := c.lookups.sum()
	return Stats{
		Hits:        hits,
		Misses:      misses,
		Evictions:   c.evictions.Load(),
		Expirations: c.expirations.Load(),
	}
}
