package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// unfired marks timeouts that have not fired.
const unfired = math.MinInt64

// expire lets s.N timeouts come due within one second. The CPU time is that of
// the second and of what it takes to catch up, with the task's own reading of
// the clock.
func expire(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	// All must be scheduled before the first comes due.
	lead := 2*time.Second + time.Duration(s.N)*5*time.Microsecond
	start := time.Now()
	x := &expiry{start: start, late: make([]atomic.Int64, s.N)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x.late {
		x.late[i].Store(unfired)
		deadline := lead + time.Duration(r.Int64N(int64(time.Second)))
		e.Schedule(deadline-time.Since(start), func() { x.fire(i, deadline) })
	}
	runtime.GC()
	if time.Since(start) > lead {
		return spec.Sample{Failure: fmt.Sprintf("took more than %v to be given %d timeouts", lead, s.N)}
	}
	time.Sleep(lead - 50*time.Millisecond - time.Since(start))
	used := proc.Now()
	for x.fired.Load() < int64(s.N) && time.Since(start) < lead+s.Span {
		time.Sleep(10 * time.Millisecond)
	}
	cpu := proc.Now().Sub(used).CPU
	sample := spread(x.late)
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(s.N)
	sample.Metrics[spec.Repeated] = float64(x.repeated.Load())
	return sample
}

// expiry is what the tasks share: so each takes little memory of its own.
type expiry struct {
	start           time.Time
	late            []atomic.Int64 // of each, in nanoseconds
	fired, repeated atomic.Int64
}

func (x *expiry) fire(i int, deadline time.Duration) {
	if x.late[i].Swap(int64(time.Since(x.start)-deadline)) == unfired {
		x.fired.Add(1)
	} else {
		x.repeated.Add(1)
	}
}

// spread returns how the lateness of those that fired is distributed.
func spread(late []atomic.Int64) spec.Sample {
	ms := make([]float64, 0, len(late))
	early := 0
	for i := range late {
		if l := late[i].Load(); l != unfired {
			if l < 0 {
				early++
			}
			ms = append(ms, float64(l)/1e6)
		}
	}
	m := map[string]float64{spec.Lost: float64(len(late) - len(ms)), spec.Early: float64(early)}
	if len(ms) == 0 {
		return spec.Sample{Metrics: m, Failure: "nothing fired"}
	}
	slices.Sort(ms)
	at := func(share float64) float64 { return ms[int(share*float64(len(ms)-1))] }
	m[spec.LateMin], m[spec.LateP50], m[spec.LateP99] = ms[0], at(0.5), at(0.99)
	m[spec.LateP999], m[spec.LateMax] = at(0.999), ms[len(ms)-1]
	points := make([]spec.Point, 0, len(shares))
	for _, share := range shares {
		points = append(points, spec.Point{Share: share, Ms: at(share)})
	}
	return spec.Sample{Metrics: m, Late: points}
}

// shares are the points at which a distribution is kept.
var shares = func() []float64 {
	list := []float64{0, 0.001, 0.002, 0.005}
	for i := 1; i < 100; i++ {
		list = append(list, float64(i)/100)
	}
	return append(list, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1)
}()
