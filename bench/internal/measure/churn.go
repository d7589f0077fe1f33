package measure

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// batch is the number of operations between two readings of the clock.
const batch = 64

// churn lets each of s.Producers keep s.Pending timeouts pending at full speed: an
// operation schedules one and cancels the oldest. Probes measure the lateness.
func churn(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	p := newProbes(e, s.Producers*int(s.Span/probeEvery+1))
	pools := make([]pool, s.Producers)
	each(pools, func(c *pool) { *c = newPool(e, s.Pending) })
	awaitIdle(s.Pending*s.Producers, 0)
	began, before := time.Now(), proc.Now()
	each(pools, func(c *pool) { c.run(p, s.Span) })
	wall := time.Since(began)
	done := 0
	for i := range pools {
		done += pools[i].done
	}
	awaitIdle(done, 0)
	cpu := proc.Now().Sub(before).CPU
	sample := p.sample(patience)
	sample.Metrics[spec.PerSec] = float64(done) / wall.Seconds()
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(max(1, done))
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// apart keeps the cache lines of two producers apart.
type apart [128]byte

// each calls f for each element concurrently, and waits.
func each[T any](all []T, f func(*T)) {
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { f(&all[i]) })
	}
	wait.Wait()
}

// pool holds the pending timeouts of one producer.
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

// run makes steps until the span is over.
func (c *pool) run(p *probes, span time.Duration) {
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
