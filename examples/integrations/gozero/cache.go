package gozero

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
)

// Cache is an expiring cache.
type Cache struct {
	cache *cache.Cache[string, any]
}

// NewCache returns a cache with the given TTL, shortened by up to 5 %, and a limit of entries,
// or 0 for no limit. If timer is nil, the cache has its own timer. Close stops that timer.
func NewCache(timer hwt.Timer, expire time.Duration, limit int) (*Cache, error) {
	c, err := cache.New(expire, &cache.Options[string, any]{Timer: timer, Limit: limit, Jitter: 0.05})
	if err != nil {
		return nil, err
	}
	return &Cache{c}, nil
}

// Get returns the value of key.
func (c *Cache) Get(key string) (any, bool) { return c.cache.Get(key) }

// Set stores value for the TTL given to NewCache. It has no effect after Close.
func (c *Cache) Set(key string, value any) { _ = c.cache.Set(key, value) }

// SetWithExpire stores value for the given TTL. A TTL of zero or less removes the
// entry.
func (c *Cache) SetWithExpire(key string, value any, expire time.Duration) {
	_ = c.cache.SetWithTTL(key, value, expire)
}

// Take returns the value of key. It fetches the value if necessary.
func (c *Cache) Take(key string, fetch func() (any, error)) (any, error) {
	return c.cache.GetOrFetch(context.Background(), key, func(context.Context) (any, error) { return fetch() })
}

// Del deletes the entry of key.
func (c *Cache) Del(key string) { c.cache.Delete(key) }

// Len returns the number of entries.
func (c *Cache) Len() int { return c.cache.Len() }

// Close removes all entries. go-zero's cache cannot be closed.
func (c *Cache) Close() { c.cache.Close() }
