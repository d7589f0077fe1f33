package hierarchical

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// wheelModel does random operations on a wheel. Each timeout must expire at its tick.
// maxBucketLen is small, so that buckets divide often.
func wheelModel(t *rapid.T) {
	d := drive(rapid.SampledFrom([]int{2, 3, 4, 7, 64, 1 << 12}).Draw(t, "size"))
	d.maxBucketLen = rapid.Int32Range(1, 4).Draw(t, "crowd")
	var order []*store.Node // in a repeatable order, to draw from
	distance := rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "magnitude")).Draw(t, "distance")
	})
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			order = append(order, d.add(max(d.tick+distance.Draw(t, "d"), d.tick+1)))
		},
		"add many": func(t *rapid.T) {
			tick := d.tick + 1 + distance.Draw(t, "d")
			for range 20 {
				order = append(order, d.add(tick))
			}
		},
		"remove": func(t *rapid.T) {
			if len(order) == 0 {
				return // not Skip: a fuzzed input that only skips would count as a failure
			}
			timeout := rapid.SampledFrom(order).Draw(t, "which")
			if _, there := d.due[timeout]; there {
				d.remove(timeout)
			}
		},
		"advance": func(t *rapid.T) {
			d.advance(t, d.tick+distance.Draw(t, "d"))
		},
		"advance to the next": func(t *rapid.T) {
			if next := d.Next(); next < math.MaxInt64 {
				d.advance(t, next)
			}
		},
		"": func(t *rapid.T) {
			added := make(map[*store.Node]int64)
			d.Held().All(func(timeout *store.Node) bool {
				added[timeout] = d.due[timeout]
				return true
			})
			require.True(t, maps.Equal(added, d.due), "All yields the added timeouts")
			earliest := int64(math.MaxInt64)
			for _, due := range d.due {
				earliest = min(earliest, due)
			}
			require.LessOrEqual(t, d.Next(), earliest)
			d.peek(t)
			require.Equal(t, len(d.due) == 0, d.Next() == math.MaxInt64)
		},
	})
}

func TestEachTimeoutExpiresAtItsTick(t *testing.T) { rapid.Check(t, wheelModel) }

func FuzzWheel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(wheelModel)) }
