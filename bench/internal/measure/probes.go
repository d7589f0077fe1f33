package measure

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// patience is the longest wait for probes after the load.
const patience = 5 * time.Second

// probes are timeouts whose lateness is measured while a load runs.
type probes struct {
	engine   engines.Engine
	start    time.Time
	deadline []int64        // of each probe; written before it is scheduled
	late     []atomic.Int64 // of each probe; 0 until it fires
	next     atomic.Int64
	fired    atomic.Int64
}

// newProbes returns room for n probes.
func newProbes(e engines.Engine, n int) *probes {
	return &probes{engine: e, start: time.Now(), deadline: make([]int64, n), late: make([]atomic.Int64, n)}
}

// schedule schedules another probe. It returns false if there is no room for it, and is
// safe for concurrent use.
func (p *probes) schedule(delay time.Duration) bool { return p.then(delay, func() {}) }

// then is schedule, and calls f after the probe has fired.
func (p *probes) then(delay time.Duration, f func()) bool {
	i := int(p.next.Add(1) - 1)
	if i >= len(p.late) {
		p.next.Add(-1)
		return false
	}
	p.deadline[i] = int64(time.Since(p.start) + delay)
	p.engine.Schedule(delay, func() {
		p.fire(i)
		f()
	})
	return true
}

// fire records the lateness of a probe.
func (p *probes) fire(i int) {
	late := int64(time.Since(p.start)) - p.deadline[i]
	if late == 0 {
		late = 1
	}
	if p.late[i].Swap(late) == 0 {
		p.fired.Add(1)
	}
}

// sample waits until every probe has fired, but not longer than wait, and returns the
// distribution of the lateness. A probe that has not fired counts with its lateness so far.
func (p *probes) sample(wait time.Duration) spec.Sample {
	for end := time.Now().Add(wait); p.fired.Load() < p.next.Load() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	now := int64(time.Since(p.start))
	count := min(int(p.next.Load()), len(p.late))
	ms := make([]float64, 0, count)
	unfired := 0
	for i := range count {
		late := p.late[i].Load()
		if late == 0 {
			if late = now - p.deadline[i]; late < 0 {
				continue // not due yet
			}
			unfired++
		}
		ms = append(ms, float64(late)/1e6)
	}
	sample := distribution(ms)
	sample.Metrics[spec.Lost] = float64(unfired)
	return sample
}
