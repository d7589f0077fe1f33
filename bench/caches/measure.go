package main

import (
	"math/rand"
	"runtime"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// load is the workload.
type load struct {
	entries int // in a cache
	ops     int // of a goroutine in a round
	rounds  int
	trace   int // lookups of a trace
}

var (
	full  = load{entries: 100_000, ops: 400_000, rounds: 11, trace: 1 << 20}
	quick = load{entries: 10_000, ops: 40_000, rounds: 1, trace: 1 << 16}
)

// zipf returns keys of which a few are frequent.
func (l load) zipf(seed int64, n int) []uint64 {
	zipf := rand.NewZipf(rand.New(rand.NewSource(seed)), 1.01, 1, uint64(l.entries-1))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = zipf.Uint64()
	}
	return keys
}

// filled returns a cache with all entries.
func (l load) filled(i, limit int) (rival, error) {
	c, err := rivals[i].make(limit)
	for key := uint64(0); err == nil && key < uint64(l.entries); key++ {
		c.set(key, key)
	}
	return c, err
}

// times returns, for each rival, the median of the nanoseconds that a goroutine takes
// for an operation, of which some percent are sets. There are two goroutines, and the
// caches take turns.
func (l load) times(limit, sets int) (ns []float64, err error) {
	keys := [][]uint64{l.zipf(1, l.ops), l.zipf(2, l.ops)}
	caches, all := make([]rival, len(rivals)), make([][]float64, len(rivals))
	for i := range rivals {
		if caches[i], err = l.filled(i, limit); err != nil {
			return nil, err
		}
		defer caches[i].close()
	}
	for range l.rounds {
		for i, c := range caches {
			all[i] = append(all[i], l.round(c, keys, sets))
		}
	}
	for _, times := range all {
		ns = append(ns, stats.Of(times).Median)
	}
	return ns, nil
}

func (l load) round(c rival, keys [][]uint64, sets int) (ns float64) {
	runtime.GC()
	start := time.Now()
	var goroutines sync.WaitGroup
	for _, keys := range keys {
		goroutines.Go(func() {
			for n, key := range keys {
				if n%100 < sets {
					c.set(key, key)
				} else {
					c.get(key)
				}
			}
		})
	}
	goroutines.Wait()
	return float64(time.Since(start)) / float64(l.ops)
}

// heaps returns, for each rival, the bytes of heap that an entry takes.
func (l load) heaps(limit int) (bytes []float64, err error) {
	for i := range rivals {
		before := proc.Heap()
		c, err := l.filled(i, limit)
		if err != nil {
			return nil, err
		}
		time.Sleep(200 * time.Millisecond) // background work counts
		bytes = append(bytes, float64(proc.Heap()-before)/float64(l.entries))
		c.close()
	}
	return bytes, nil
}

// trace is a sequence of lookups.
type trace struct {
	name string
	key  func(i int) uint64
}

// traces returns traces for a cache that has room for a tenth of the entries.
func (l load) traces() []trace {
	zipf, room := l.zipf(3, l.trace), l.entries/10
	return []trace{
		{"Zipf", func(i int) uint64 { return zipf[i] }},
		{"Zipf with scans", func(i int) uint64 { // of keys that come once, for a fifth of the time
			if i%l.entries >= l.entries*4/5 {
				return uint64(l.entries + i)
			}
			return zipf[i]
		}},
		{"a loop over 125 % of the room", func(i int) uint64 { return uint64(i % (room * 5 / 4)) }},
		{"a loop over 80 % of the room", func(i int) uint64 { return uint64(i % (room * 4 / 5)) }},
	}
}

// hits returns, for each rival, the percentage of lookups that find their key. A key
// that is not found is set.
func (l load) hits(t trace) (percent []float64, err error) {
	for _, r := range rivals {
		c, err := r.make(l.entries / 10)
		if err != nil {
			return nil, err
		}
		found := 0
		for i := range l.trace {
			if key := t.key(i); c.get(key) {
				found++
			} else {
				c.set(key, key)
			}
		}
		c.close()
		percent = append(percent, 100*float64(found)/float64(l.trace))
	}
	return percent, nil
}
