package measure

import (
	"runtime"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// idle measures an engine that only waits. One timeout runs before, so that an engine
// that starts late has started.
func idle(s spec.Spec, k engines.Kind, e engines.Engine) spec.Sample {
	ran := make(chan struct{})
	e.Schedule(k.Tick, func() { close(ran) })
	<-ran
	fill(e, s.Pending)
	runtime.GC()
	time.Sleep(time.Second) // for what is left to do, the collector included
	began, used := time.Now(), proc.Now()
	time.Sleep(s.Span)
	wall, usage := time.Since(began), proc.Now().Sub(used)
	return spec.Sample{Metrics: map[string]float64{
		spec.CorePct: 100 * float64(usage.CPU) / float64(wall),
		spec.WakeUps: float64(usage.WakeUps) / wall.Seconds(),
	}}
}
