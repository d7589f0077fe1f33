package measure

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// probeDelay is the delay of probes beside a load of timeouts that never expire.
	probeDelay = 5 * time.Millisecond

	// probeEvery is how far apart one producer schedules them.
	probeEvery = time.Millisecond

	// patience is how long to wait for probes once the load has ended.
	patience = 5 * time.Second
)

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

// schedule schedules another probe, and reports whether there is room for it. It is
// safe for concurrent use.
func (p *probes) schedule(delay time.Duration) bool { return p.scheduleThen(delay, func() {}) }

// scheduleThen is schedule with a function to call after the probe has fired.
func (p *probes) scheduleThen(delay time.Duration, then func()) bool {
	i, ok := p.add(delay)
	if ok {
		p.engine.Schedule(delay, func() {
			p.fire(i)
			then()
		})
	}
	return ok
}

// add adds a probe that is about to be scheduled, or reset, to run after the delay.
func (p *probes) add(delay time.Duration) (i int, ok bool) {
	i = int(p.next.Add(1) - 1)
	if i >= len(p.late) {
		p.next.Add(-1)
		return 0, false
	}
	p.deadline[i] = int64(time.Since(p.start) + delay)
	return i, true
}

// fire takes note that a probe runs.
func (p *probes) fire(i int) {
	late := int64(time.Since(p.start)) - p.deadline[i]
	if late == 0 {
		late = 1
	}
	if p.late[i].Swap(late) == 0 {
		p.fired.Add(1)
	}
}

// sample waits until every probe has fired, for the time given at most, and returns the
// distribution of the lateness. A probe that has not fired counts with what it is late
// by then.
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
	sample.Late = nil // the load is compared, not the shape
	sample.Metrics[spec.Lost] = float64(unfired)
	return sample
}
