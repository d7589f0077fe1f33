package measure

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// The workload of golang/go issue 41699: each of many timers is reset to 5 s and
// then to 10 s every 20 ms.
const (
	deadlineShort = 5 * time.Second
	deadlineLong  = 10 * time.Second
	deadlineTurn  = 20 * time.Millisecond
)

// deadlines makes the resets from one goroutine at an even pace, which shows their own
// cost.
func deadlines(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	handles := make([]engines.Handle, s.N)
	for i := range handles {
		handles[i] = e.Schedule(deadlineShort, nop)
	}
	round := func(i int) {
		h := e.Reset(handles[i], deadlineShort, nop)
		handles[i] = e.Reset(h, deadlineLong, nop)
	}
	paced(s.N, deadlineTurn, time.Second, round)
	began, used := time.Now(), proc.Now()
	done := paced(s.N, deadlineTurn, s.Span, round)
	return paceCost(s.N, deadlineTurn, done, time.Since(began), proc.Now().Sub(used).CPU)
}

// goroutines makes them as the issue does, from a goroutine a timer that sleeps in
// between. The sleeps use the runtime's timers, whatever the engine.
func goroutines(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	var done atomic.Int64
	for range s.N {
		go func() {
			h := e.Schedule(deadlineShort, nop)
			for {
				h = e.Reset(h, deadlineShort, nop)
				h = e.Reset(h, deadlineLong, nop)
				done.Add(1)
				time.Sleep(deadlineTurn)
			}
		}()
	}
	time.Sleep(time.Second)
	began, used, before := time.Now(), proc.Now(), done.Load()
	time.Sleep(s.Span)
	return paceCost(s.N, deadlineTurn, int(done.Load()-before), time.Since(began), proc.Now().Sub(used).CPU)
}
