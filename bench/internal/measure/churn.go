package measure

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// batch is how many operations a producer at full speed makes between two looks
// at the clock.
const batch = 64

// churn lets s.Producers keep s.Pending timeouts pending each: an operation schedules
// one and cancels the oldest. Producers are as fast as they can be, or make s.Rate
// operations a second between them. Probes measure how late the engine runs.
func churn(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	p := newProbes(e, s.Producers*int(s.Span/probeEvery+1))
	pools := make([]pool, s.Producers)
	each(pools, func(c *pool) { *c = newPool(e, s.Pending) })
	settle(s.Pending*s.Producers, 0)
	began, before := time.Now(), proc.Now()
	each(pools, func(c *pool) {
		if s.Rate > 0 {
			c.paced(p, s.Rate/s.Producers, s.Span)
		} else {
			c.fullSpeed(p, s.Span)
		}
	})
	wall := time.Since(began)
	done := 0
	for i := range pools {
		done += pools[i].done
	}
	settle(done, 0)
	cpu := proc.Now().Sub(before).CPU
	sample := p.sample(patience)
	sample.Metrics[spec.PerSec] = float64(done) / wall.Seconds()
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(max(1, done))
	sample.Metrics[spec.Behind] = behind(s.Rate, done, wall)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// apart keeps what one producer writes off the cache lines of the next.
type apart [128]byte

// each calls f for each element, on goroutines of their own, and waits for them.
func each[T any](all []T, f func(*T)) {
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { f(&all[i]) })
	}
	wait.Wait()
}

// behind returns the share of operations that were not made, in percent, of a load
// with that rate. Without a rate it is 0.
func behind(rate, done int, wall time.Duration) float64 {
	if rate == 0 {
		return 0
	}
	return max(0, 100*(1-float64(done)/(float64(rate)*wall.Seconds())))
}

// pool is what one producer keeps pending.
type pool struct {
	engine  engines.Engine
	handles []engines.Handle
	oldest  int
	done    int // operations
	_       apart
}

func newPool(e engines.Engine, n int) pool {
	c := pool{engine: e, handles: make([]engines.Handle, n)}
	for i := range c.handles {
		c.handles[i] = e.Schedule(time.Minute, nop)
	}
	return c
}

// step schedules a timeout and cancels the oldest one.
func (c *pool) step() {
	h := c.engine.Schedule(time.Minute, nop)
	c.engine.Cancel(c.handles[c.oldest])
	c.handles[c.oldest] = h
	if c.oldest++; c.oldest == len(c.handles) {
		c.oldest = 0
	}
	c.done++
}

// fullSpeed makes steps until the span is over.
func (c *pool) fullSpeed(p *probes, span time.Duration) {
	began, probe := time.Now(), time.Duration(0)
	for now := time.Duration(0); now < span; now = time.Since(began) {
		if now >= probe {
			p.schedule(probeDelay)
			probe = now + probeEvery
		}
		for range batch {
			c.step()
		}
	}
}

// paced makes rate steps a second until the span is over.
func (c *pool) paced(p *probes, rate int, span time.Duration) {
	every := max(1, rate*int(probeEvery)/int(time.Second))
	paced(rate, time.Second, span, func(i int) {
		if i%every == 0 {
			p.schedule(probeDelay)
		}
		c.step()
	})
}
