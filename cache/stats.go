package cache

// Stats is a snapshot of what a cache has done.
type Stats struct {
	Hits        int64 // look-ups, by Get or Take, that found an entry
	Misses      int64 // look-ups that found none, those included that waited for another's fetch
	Evictions   int64 // entries that went to keep the limit
	Expirations int64 // entries that went because their time was over
}

// Stats returns a snapshot of the counts. It takes time proportional to the
// number of processors.
func (c *Cache[K, V]) Stats() Stats {
	hits, misses := c.lookups.sum()
	return Stats{
		Hits:        hits,
		Misses:      misses,
		Evictions:   c.evictions.Load(),
		Expirations: c.expirations.Load(),
	}
}
