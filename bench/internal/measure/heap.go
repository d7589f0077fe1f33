package measure

import (
	"runtime"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// heap measures the heap per pending timeout, and the duration of a garbage collection over
// them. Only the engine refers to them.
func heap(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	before := proc.Heap()
	fill(e, s.Pending, nop)
	held := proc.Heap() - before
	cycles := make([]float64, 3)
	for i := range cycles {
		began := time.Now()
		runtime.GC()
		cycles[i] = float64(time.Since(began)) / 1e6
	}
	runtime.KeepAlive(e)
	slices.Sort(cycles)
	return spec.Sample{Metrics: map[string]float64{
		spec.HeapBytes: float64(held) / float64(s.Pending),
		spec.GCMs:      cycles[1],
	}}
}
