package measure

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// probeOneIn is the sampling rate: the lateness of one in so many timeouts is measured.
const probeOneIn = 16

// sustained schedules s.Rate timeouts per second with s.Delay, and cancels every second
// one after half its delay. It measures for s.Span, once the first have expired.
func sustained(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	rate := s.Rate / s.Producers
	wanted := int(float64(s.Rate)*s.Span.Seconds())/probeOneIn + probeOneIn
	producers := make([]producer, s.Producers)
	p := newProbes(e, wanted)
	each(producers, func(r *producer) {
		*r = producer{engine: e, delay: s.Delay, held: make([]engines.Handle, int(float64(rate)*s.Delay.Seconds()/4)+1)}
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
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(max(1, done))
	sample.Metrics[spec.Behind] = behind(float64(s.Rate), done, wall)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// each calls f for each element concurrently, and waits.
func each[T any](all []T, f func(*T)) {
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { f(&all[i]) })
	}
	wait.Wait()
}

// producer schedules timeouts at an even pace.
type producer struct {
	engine engines.Engine
	probes *probes          // nil until the measurement begins
	held   []engines.Handle // the ring of timeouts to cancel
	next   int
	steps  int
	delay  time.Duration
	done   int
	_      [128]byte // keeps the cache lines of two producers apart
}

// step schedules one timeout, and cancels one after half its delay.
func (r *producer) step(int) {
	r.steps++
	switch {
	case r.steps%2 == 0:
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

// behind returns the percentage of a rate's operations that were not made.
func behind(rate float64, done int, wall time.Duration) float64 {
	return max(0, 100*(1-float64(done)/(rate*wall.Seconds())))
}
