package measure

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// stint is how long a busy goroutine works before it yields.
	stint = 200 * time.Microsecond

	// nap is how it yields: to be woken again, as goroutines are that wait for I/O or
	// for each other. After runtime.Gosched the processor would turn to whatever was
	// woken meanwhile, and the timer would never have to wait.
	nap = time.Microsecond
)

// saturated runs s.N chains of probes, in which each probe schedules the next,
// among s.Busy goroutines that keep the processors busy.
func saturated(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	var stop atomic.Bool
	for range s.Busy {
		go work(&stop)
	}
	p := newProbes(e, s.N*int(s.Span/probeDelay+2))
	var link func()
	link = func() {
		if !stop.Load() {
			p.scheduleThen(probeDelay, link)
		}
	}
	for i := range s.N { // not all due at once
		p.scheduleThen(probeDelay+probeDelay*time.Duration(i)/time.Duration(s.N), link)
	}
	time.Sleep(s.Span)
	stop.Store(true)
	sample := p.sample(patience)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// work keeps a processor busy, and yields it between stints.
func work(stop *atomic.Bool) {
	for !stop.Load() {
		for began := time.Now(); time.Since(began) < stint; {
		}
		time.Sleep(nap)
	}
}
