// Package measure holds the measurements. Each runs in its own process, on one engine,
// and returns one sample.
package measure

import (
	"fmt"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// measurement measures e, which is of kind k.
type measurement func(s spec.Spec, k engines.Kind, e engines.Engine) spec.Sample

var measurements = map[string]measurement{
	spec.Schedule:   schedule,
	spec.Cancel:     cancel,
	spec.ResetAll:   resetAll,
	spec.Heartbeats: heartbeats,
	spec.Heap:       heap,
	spec.Expire:     expire,
	spec.Burst:      expire,
	spec.Sustained:  sustained,
	spec.Saturated:  saturated,
	spec.Trickle:    trickle,
	spec.Lone:       lone,
	spec.Correct:    correct,
}

// Run makes the measurement s in this process.
func Run(s spec.Spec) (spec.Sample, error) {
	measure := measurements[s.Measure]
	if measure == nil {
		return spec.Sample{}, fmt.Errorf("no measurement %q", s.Measure)
	}
	kind, err := engines.Find(s.Engine)
	if err != nil {
		return spec.Sample{}, err
	}
	if kind.New == nil {
		return spec.Sample{}, fmt.Errorf("%s is not measured by this program", kind.Name)
	}
	engine, err := kind.New()
	if err != nil {
		return spec.Sample{}, err
	}
	return measure(s, kind, engine), nil
}

// nop is the task of timeouts that do nothing.
func nop() {}

// timed runs operations, which returns their number, and returns wall time, CPU time,
// bytes, and allocations per operation. Wall time is that of one producer's call. CPU
// time includes the engine's background work to its end.
func timed(producers int, operations func() (done int)) map[string]float64 {
	var before, after runtime.MemStats
	runtime.GC()
	idle := used() // an engine may poll all the time
	runtime.ReadMemStats(&before)
	began, used := time.Now(), proc.Now()
	done := operations()
	wall := time.Since(began)
	awaitIdle(done, idle)
	cpu := proc.Now().Sub(used).CPU
	runtime.ReadMemStats(&after)
	per := func(total float64) float64 { return total / float64(done) }
	return map[string]float64{
		spec.WallNs: per(float64(wall) * float64(producers)),
		spec.CPUNs:  per(float64(cpu)),
		spec.Bytes:  per(float64(after.TotalAlloc - before.TotalAlloc)),
		spec.Allocs: per(float64(after.Mallocs - before.Mallocs)),
	}
}

// atMost bounds a loop of operations: a very slow engine makes fewer of them.
const atMost = 5 * time.Second

// repeat runs operation n times, but no longer than atMost. It returns the number of runs.
func repeat(n int, operation func()) (done int) {
	for began := time.Now(); done < n && time.Since(began) < atMost; {
		for range min(1000, n-done) {
			operation()
			done++
		}
	}
	return done
}
