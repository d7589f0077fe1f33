package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// stormFar is how far ahead probes are before they are reset.
	stormFar = 30 * time.Hour

	// stormProbeEvery is how far apart they are reset.
	stormProbeEvery = 10 * time.Millisecond
)

// resetStorm resets s.Pending timeouts in turn, as fast as it can. Probes that are far
// ahead are reset to a short delay meanwhile.
func resetStorm(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	p := newProbes(e, int(s.Span/stormProbeEvery)+1)
	others := make([]engines.Handle, len(p.late))
	for i := range others {
		others[i] = e.Schedule(stormFar, func() { p.fire(i) })
	}
	handles := fillAndHold(e, s.Pending)
	next, done := far(1), 0
	began, before := time.Now(), proc.Now()
	for now, probe := time.Duration(0), time.Duration(0); now < s.Span; now = time.Since(began) {
		if now >= probe {
			if i, ok := p.add(probeDelay); ok {
				others[i] = e.Reset(others[i], probeDelay, func() { p.fire(i) })
			}
			probe = now + stormProbeEvery
		}
		for range batch {
			i := done % len(handles)
			handles[i] = e.Reset(handles[i], next(), nop)
			done++
		}
	}
	wall := time.Since(began)
	settle(done, 0)
	cpu := proc.Now().Sub(before).CPU
	sample := p.sample(patience)
	sample.Metrics[spec.PerSec] = float64(done) / wall.Seconds()
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(done)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}
