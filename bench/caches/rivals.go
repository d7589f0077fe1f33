package main

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/maypok86/otter/v2"

	"github.com/hashedwheel/hwt/cache"
)

// ttl is that of all entries.
const ttl = 10 * time.Minute

// rival is a running cache.
type rival struct {
	get   func(key uint64) bool
	set   func(key, value uint64)
	close func()
}

// rivals are the caches, ours first. A limit of 0 is none.
var rivals = []struct {
	name string
	make func(limit int) (rival, error)
}{
	{"`cache`", func(limit int) (rival, error) {
		c, err := cache.New(ttl, &cache.Options[uint64, uint64]{Limit: limit})
		return rival{
			func(key uint64) bool { _, ok := c.Get(key); return ok },
			func(key, value uint64) { _ = c.Set(key, value) },
			func() { c.Close() },
		}, err
	}},
	{"otter v2", func(limit int) (rival, error) {
		c, err := otter.New(&otter.Options[uint64, uint64]{
			MaximumSize:      limit,
			ExpiryCalculator: otter.ExpiryWriting[uint64, uint64](ttl),
		})
		return rival{
			func(key uint64) bool { _, ok := c.GetIfPresent(key); return ok },
			func(key, value uint64) { c.Set(key, value) },
			func() { c.StopAllGoroutines() },
		}, err
	}},
	{"golang-lru expirable", func(limit int) (rival, error) {
		c := expirable.NewLRU[uint64, uint64](limit, nil, ttl)
		return rival{
			func(key uint64) bool { _, ok := c.Get(key); return ok },
			func(key, value uint64) { c.Add(key, value) },
			func() {},
		}, nil
	}},
}
