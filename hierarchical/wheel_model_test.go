package hierarchical

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// wheelModel does at random what the core may do with a wheel. Everything must
// expire at its tick; a few fill a bucket, so that they divide a lot.
func wheelModel(t *rapid.T) {
	d := drive(rapid.SampledFrom([]int{2, 3, 4, 7, 64, 1 << 12}).Draw(t, "size"))
	d.maxBucketLen = rapid.Int32Range(1, 4).Draw(t, "crowd")
	var order []*store.Node // of adding, so that a choice among them repeats
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
				return // no Skip: a fuzzer finds inputs that do nothing else, and rapid takes that for a fault
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
			require.True(t, maps.Equal(added, d.due), "what was added")
			earliest := int64(math.MaxInt64)
			for _, due := range d.due {
				earliest = min(earliest, due)
			}
			require.LessOrEqual(t, d.Next(), earliest)
			require.Equal(t, len(d.due) == 0, d.Next() == math.MaxInt64)
		},
	})
}

func TestWheelExpiresEverythingAtItsTick(t *testing.T) { rapid.Check(t, wheelModel) }

func FuzzWheel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(wheelModel)) }
