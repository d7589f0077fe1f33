package keyed

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeromicro/go-zero/core/collection"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/internal/versus"
)

// BenchmarkCacheGet gets from several goroutines, and sets once in a hundred. The
// rate is by wall clock, because what a lock makes others wait for is no CPU
// time.
func BenchmarkCacheGet(b *testing.B) {
	const n = 200_000
	for _, keys := range []int{1000, 10_000} {
		for _, limited := range []bool{false, true} {
			for _, procs := range []int{1, 2} {
				b.Run(fmt.Sprintf("keys=%d/limited=%t/procs=%d", keys, limited, procs), func(b *testing.B) {
					ours, theirs := newCaches(b, limited, keys)
					names, value := make([]string, keys), new(int)
					for i := range names {
						names[i] = "key" + strconv.Itoa(i)
						require.NoError(b, ours.Set(names[i], value))
						theirs.Set(names[i], value)
					}
					name := func(i int) string { return names[int(uint32(i)*2654435761)%keys] } // in no order
					versusWall(b, n, func() {
						parallel(procs, n, func(i int) {
							if i/procs%100 == 0 {
								ours.Set(name(i), value)
							} else {
								ours.Get(name(i))
							}
						})
					}, func() {
						parallel(procs, n, func(i int) {
							if i/procs%100 == 0 {
								theirs.Set(name(i), value)
							} else {
								theirs.Get(name(i))
							}
						})
					})
				})
			}
		}
	}
}

func newCaches(b *testing.B, limited bool, keys int) (*cache.Cache[string, *int], *collection.Cache) {
	b.Helper()
	var options cache.Options[string, *int]
	var theirOptions []collection.CacheOption
	if limited {
		options.Limit = 2 * keys
		theirOptions = append(theirOptions, collection.WithLimit(2*keys))
	}
	ours, err := cache.New(time.Hour, &options)
	require.NoError(b, err)
	b.Cleanup(ours.Close)
	theirs, err := collection.NewCache(time.Hour, theirOptions...)
	require.NoError(b, err)
	return ours, theirs
}

// versusWall is versus with the wall clock beside the CPU time: speedup is their
// time over ours.
func versusWall(b *testing.B, n int, ours, theirs func()) {
	b.Helper()
	var oursWall, theirsWall []float64
	timed := func(wall *[]float64, f func()) func() {
		return func() {
			start := time.Now()
			f()
			*wall = append(*wall, float64(time.Since(start))/float64(n))
		}
	}
	versus.Compare(b, 4*versus.Rounds, n, timed(&oursWall, ours), timed(&theirsWall, theirs))
	b.ReportMetric(versus.Median(oursWall), "hwt-ns")
	b.ReportMetric(versus.Median(theirsWall), "rival-ns")
	b.ReportMetric(versus.Median(theirsWall)/versus.Median(oursWall), "speedup")
}
