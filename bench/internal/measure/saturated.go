package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// stint is the time that a busy goroutine works without a pause.
	stint = 200 * time.Microsecond

	// nap is its pause. Goroutines that wait for I/O or for each other pause alike;
	// after runtime.Gosched, a processor would always turn to the timer first.
	nap = time.Microsecond

	// Every wave, some probes are due together.
	wave        = 5 * time.Millisecond
	probesAtOne = 20

	// callEvery is the pause between two measured calls of NewTimeout and Cancel.
	callEvery = time.Millisecond
)

// saturated schedules probes for the whole span and then starts s.Busy goroutines that
// keep the processors busy. The probes are scheduled beforehand, so a timer that stalls
// is late for all probes of the stall; probes that never ran count with the time that
// they have waited. Meanwhile a goroutine measures its own calls.
func saturated(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	waves := int(s.Span / wave)
	p := newProbes(e, waves*probesAtOne)
	lead := time.Second + time.Duration(waves*probesAtOne)*2*time.Microsecond
	for i := range waves {
		for range probesAtOne {
			p.schedule(lead + time.Duration(i)*wave - time.Since(p.start))
		}
	}
	awaitIdle(waves*probesAtOne, 0)
	time.Sleep(lead - 100*time.Millisecond - time.Since(p.start))
	var stop atomic.Bool
	var all sync.WaitGroup
	for range s.Busy {
		all.Go(func() { work(&stop) })
	}
	calls, cancels := measureCalls(e, p.start.Add(lead+s.Span))
	stop.Store(true)
	sample := p.sample(0) // before the processors come to rest
	all.Wait()
	put := func(us []float64, p50, p99, most string) {
		slices.Sort(us)
		at := func(share float64) float64 { return us[int(share*float64(len(us)-1))] }
		sample.Metrics[p50], sample.Metrics[p99], sample.Metrics[most] = at(0.5), at(0.99), at(1)
	}
	put(calls, spec.CallP50, spec.CallP99, spec.CallMax)
	put(cancels, spec.StopP50, spec.StopP99, spec.StopMax)
	sample.Metrics[spec.PeakMB] = proc.PeakMB()
	return sample
}

// measureCalls schedules and cancels timeouts until end, and returns the durations of the
// calls in microseconds.
func measureCalls(e engines.Engine, end time.Time) (calls, cancels []float64) {
	for time.Now().Before(end) || calls == nil {
		began := time.Now()
		h := e.Schedule(time.Minute, nop)
		scheduled := time.Now()
		e.Cancel(h)
		calls = append(calls, float64(scheduled.Sub(began))/1e3)
		cancels = append(cancels, float64(time.Since(scheduled))/1e3)
		time.Sleep(callEvery)
	}
	return calls, cancels
}

// work keeps a processor busy, with a nap between stints.
func work(stop *atomic.Bool) {
	for !stop.Load() {
		for began := time.Now(); time.Since(began) < stint; {
		}
		time.Sleep(nap)
	}
}
