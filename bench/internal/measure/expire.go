package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// unfired marks timeouts that have not fired.
const unfired = math.MinInt64

// expire schedules s.N timeouts that are due within one second. CPU time counts from the
// first deadline until all have fired, including the tasks' readings of the clock.
func expire(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	// All must be scheduled before the first is due.
	lead := 2*time.Second + time.Duration(min(s.N, 1e6))*3*time.Microsecond + time.Duration(max(s.N-1e6, 0))*time.Microsecond
	floor, _ := e.(*engines.Floor)
	if floor != nil {
		floor.Keep()
	}
	events, embedded := e.(engines.Events)
	start := time.Now()
	x := &expiry{start: start, late: make([]atomic.Int64, s.N)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x.late {
		x.late[i].Store(unfired)
		deadline := lead + time.Duration(r.Int64N(int64(time.Second)))
		if embedded {
			o := &object{x: x, i: i, deadline: deadline}
			events.Init(&o.event, o)
			events.Reset(&o.event, deadline-time.Since(start), nil)
			continue
		}
		e.Schedule(deadline-time.Since(start), func() { x.fire(i, deadline) })
	}
	if floor != nil {
		floor.Sort()
	}
	runtime.GC()
	if time.Since(start) > lead {
		return spec.Sample{Failure: fmt.Sprintf("took more than %v to schedule %d timeouts", lead, s.N)}
	}
	time.Sleep(lead - 50*time.Millisecond - time.Since(start))
	used := proc.Now()
	if floor != nil { // it has no lateness
		floor.Run()
		return spec.Sample{Metrics: map[string]float64{spec.CPUNs: float64(proc.Now().Sub(used).CPU) / float64(s.N)}}
	}
	for x.fired() < s.N && time.Since(start) < lead+s.Span {
		time.Sleep(10 * time.Millisecond)
	}
	cpu, done := proc.Now().Sub(used).CPU, time.Since(start)-lead
	sample := spread(x.late)
	sample.Metrics[spec.DoneMs] = done.Seconds() * 1000
	sample.Metrics[spec.CPUNs] = float64(cpu) / float64(s.N)
	sample.Metrics[spec.Repeated] = float64(x.repeated.Load())
	return sample
}

// expiry is shared by all tasks, which keeps each of them small.
type expiry struct {
	start    time.Time
	late     []atomic.Int64 // of each, in nanoseconds
	counts   [64]count      // fired timeouts, on separate cache lines
	repeated atomic.Int64
}

// object is a user's object that holds its timeout.
type object struct {
	event    hwt.Event
	x        *expiry
	i        int
	deadline time.Duration
}

func (o *object) Run(hwt.Timeout) error {
	o.x.fire(o.i, o.deadline)
	return nil
}

type count struct {
	n atomic.Int64
	_ [120]byte
}

func (x *expiry) fired() (n int) {
	for i := range x.counts {
		n += int(x.counts[i].n.Load())
	}
	return n
}

func (x *expiry) fire(i int, deadline time.Duration) {
	if x.late[i].Swap(int64(time.Since(x.start)-deadline)) == unfired {
		x.counts[i%len(x.counts)].n.Add(1)
	} else {
		x.repeated.Add(1)
	}
}

// spread returns the distribution of the lateness.
func spread(late []atomic.Int64) spec.Sample {
	ms := make([]float64, 0, len(late))
	for i := range late {
		if l := late[i].Load(); l != unfired {
			ms = append(ms, float64(l)/1e6)
		}
	}
	sample := distribution(ms)
	sample.Metrics[spec.Lost] = float64(len(late) - len(ms))
	return sample
}

// distribution summarizes values in milliseconds. It sorts them.
func distribution(ms []float64) spec.Sample {
	m := make(map[string]float64)
	if len(ms) == 0 {
		return spec.Sample{Metrics: m, Failure: "nothing fired"}
	}
	slices.Sort(ms)
	early, _ := slices.BinarySearch(ms, 0)
	at := func(share float64) float64 { return ms[int(share*float64(len(ms)-1))] }
	m[spec.Early] = float64(early)
	m[spec.LateMin], m[spec.LateP50], m[spec.LateP99] = ms[0], at(0.5), at(0.99)
	m[spec.LateP999], m[spec.LateMax] = at(0.999), ms[len(ms)-1]
	return spec.Sample{Metrics: m}
}
