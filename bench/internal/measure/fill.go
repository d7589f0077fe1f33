package measure

import (
	"math/rand/v2"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
)

// far returns a generator of background delays between 30 and 90 minutes. They are equal in
// every process and differ between producers.
func far(producer int) func() time.Duration {
	r := rand.New(rand.NewPCG(1, uint64(producer)))
	return func() time.Duration { return 30*time.Minute + time.Duration(r.Int64N(int64(time.Hour))) }
}

// fill schedules n far timeouts of a task, waits until the engine is idle, and returns the handles.
func fill(e engines.Engine, n int, task func()) []engines.Handle {
	next := far(0)
	handles := make([]engines.Handle, n)
	for i := range handles {
		handles[i] = e.Schedule(next(), task)
	}
	awaitIdle(n, 0)
	return handles
}
