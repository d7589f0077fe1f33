package measure

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// schedule adds pending timeouts to the background.
func schedule(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	fill(e, s.Pending, nop)
	return spec.Sample{Metrics: produce(s, func(producer int) func() {
		next := far(1 + producer)
		return func() { e.Schedule(next(), nop) }
	})}
}

// cancel cancels each timeout immediately.
func cancel(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	fill(e, s.Pending, nop)
	events, embedded := e.(engines.Events)
	return spec.Sample{Metrics: produce(s, func(int) func() {
		if embedded { // one object, armed again and again
			event := new(hwt.Event)
			events.Init(event, hwt.TaskFunc(func(hwt.Timeout) error { return nil }))
			return func() {
				_ = event.Arm(time.Minute) // it fails only after a stop
				event.Cancel()
			}
		}
		return func() { e.Cancel(e.Schedule(time.Minute, nop)) }
	})}
}

// produce runs s.N operations in s.Producers goroutines. prepare returns the operation of
// each.
func produce(s spec.Spec, prepare func(producer int) func()) map[string]float64 {
	return timed(s.Producers, func() int {
		var all sync.WaitGroup
		var done atomic.Int64
		for i := range s.Producers {
			all.Go(func() { done.Add(int64(repeat(s.N/s.Producers, prepare(i)))) })
		}
		all.Wait()
		return int(done.Load())
	})
}
