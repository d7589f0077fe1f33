package keyed

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hashedwheel"
)

// parallel calls f with 0 to n-1, spread over so many goroutines.
func parallel(procs, n int, f func(i int)) {
	var all sync.WaitGroup
	for p := range procs {
		all.Go(func() {
			for i := p; i < n; i += procs {
				f(i)
			}
		})
	}
	all.Wait()
}

// heap returns the bytes of heap in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// newFine returns a hashed wheel with a tick of 1 ms.
func newFine(tb testing.TB) *hashedwheel.Timer {
	tb.Helper()
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:  time.Millisecond,
		TicksPerWheel: 8192,
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}
