// Package measure holds the measurements. Each runs in a process of its own,
// on one engine, and returns one sample.
package measure

import (
	"cmp"
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
	spec.Schedule:     schedule,
	spec.Cancel:       cancel,
	spec.ResetLater:   resetLater,
	spec.ResetEarlier: resetEarlier,
	spec.ResetAll:     resetAll,
	spec.Heartbeats:   heartbeats,
	spec.Heap:         heap,
	spec.Expire:       expire,
	spec.Burst:        expire,
	spec.Idle:         idle,
	spec.Deadlines:    deadlines,
	spec.Goroutines:   goroutines,
	spec.Correct:      correct,
	spec.Moved:        moved,
	spec.FullSpeed:    churn,
	spec.ResetStorm:   resetStorm,
	spec.ShortLived:   churn,
	spec.LongTick:     sustained,
	spec.Sustained:    sustained,
	spec.Saturated:    saturated,
	spec.Trickle:      trickle,
}

// Run makes the measurement s in this process.
func Run(s spec.Spec) (spec.Sample, error) {
	if s.Measure == spec.Floor {
		return floor(s), nil
	}
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
	engine, err := kind.New(cmp.Or(s.Tick, kind.Tick))
	if err != nil {
		return spec.Sample{}, err
	}
	return measure(s, kind, engine), nil
}

// nop is the task of timeouts that only wait.
func nop() {}

// timed runs operations, which return how many they were, and returns wall and CPU
// time, bytes and allocations for each. Wall time is the time that one call takes its
// producer. CPU time includes what the engine does in the background, to its end.
func timed(producers int, operations func() (done int)) map[string]float64 {
	var before, after runtime.MemStats
	runtime.GC()
	idle := used() // an engine may look at what is pending all the time
	runtime.ReadMemStats(&before)
	began, used := time.Now(), proc.Now()
	done := operations()
	wall := time.Since(began)
	settle(done, idle)
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

// atMost bounds a loop of operations: an engine that is very slow does fewer.
const atMost = 5 * time.Second

// repeat runs operation n times, or for as long as it may take, and returns how
// often it did.
func repeat(n int, operation func()) (done int) {
	for began := time.Now(); done < n && time.Since(began) < atMost; {
		for range min(1000, n-done) {
			operation()
			done++
		}
	}
	return done
}
