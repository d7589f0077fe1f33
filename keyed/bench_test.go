package keyed_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/keyed"
)

// BenchmarkGet measures 8 goroutines that read 100,000 keys. Zipf's distribution has a few
// keys that all goroutines read.
func BenchmarkGet(b *testing.B) {
	const keys, goroutines, drawn = 100_000, 8, 1 << 16
	w, err := keyed.New(newTimer(b, 512), func(int, int) {}, nil)
	require.NoError(b, err)
	for key := range keys {
		require.NoError(b, w.Set(key, key, time.Hour))
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, keys-1)
	for name, draw := range map[string]func() int{
		"uniform": func() int { return rand.N(keys) },
		"zipf":    func() int { return int(zipf.Uint64()) },
	} {
		b.Run("keys="+name, func(b *testing.B) {
			reads := make([]int, drawn)
			for i := range reads {
				reads[i] = draw()
			}
			b.ResetTimer()
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for i := range b.N / goroutines {
						w.Get(reads[(g*drawn/goroutines+i)%drawn])
					}
				})
			}
			all.Wait()
		})
	}
}
