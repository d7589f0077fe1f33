package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// probeOneIn is the share of the expiring timeouts whose lateness is measured.
const probeOneIn = 16

// sustained schedules s.Rate timeouts a second with s.Delay. Every second one is
// cancelled after half its delay, unless the measurement is that of long ticks. It
// looks once the first have come due, for s.Span.
func sustained(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	rate := s.Rate / s.Producers
	wanted := int(float64(s.Rate)*s.Span.Seconds())/probeOneIn + probeOneIn
	producers := make([]producer, s.Producers)
	p := newProbes(e, wanted)
	each(producers, func(r *producer) {
		*r = producer{engine: e, delay: s.Delay}
		if s.Measure != spec.LongTick {
			r.held = make([]engines.Handle, int(float64(rate)*s.Delay.Seconds()/4)+1)
		}
		paced(rate, time.Second, s.Delay+s.Delay/4, r.step)
		r.probes = p
	})
	began, before := time.Now(), proc.Now()
	each(producers, func(r *producer) { r.done = paced(rate, time.Second, s.Span, r.step) })
	wall, cpu := time.Since(began), proc.Now().Sub(before).CPU
	done := 0
	for i := range producers {
		done += producers[i].done
	}
	sample := p.sample(s.Delay + patience)
	sample.Metrics[spec.PerSec] = float64(done) / wall.Seconds()
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(max(1, done))
	sample.Metrics[spec.Behind] = behind(s.Rate, done, wall)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// producer schedules timeouts at an even pace.
type producer struct {
	engine engines.Engine
	probes *probes          // nil at first
	held   []engines.Handle // those to cancel, a ring; empty: none is cancelled
	next   int
	steps  int
	delay  time.Duration
	done   int
	_      apart
}

// step schedules one timeout, and cancels one that has lived for half its delay.
func (r *producer) step(int) {
	r.steps++
	switch {
	case len(r.held) > 0 && r.steps%2 == 0:
		if h := r.held[r.next]; h != nil {
			r.engine.Cancel(h)
		}
		r.held[r.next] = r.engine.Schedule(r.delay, nop)
		if r.next++; r.next == len(r.held) {
			r.next = 0
		}
	case r.probes == nil || r.steps%probeOneIn != 1 || !r.probes.schedule(r.delay):
		r.engine.Schedule(r.delay, nop)
	}
}
