package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// handlerCall names the call of a handler.
type handlerCall struct {
	id     string
	worker int
	at     int64
}

// run is the time of a handler of a timed key.
type run struct {
	Firing
	end     int64
	stalled bool // its process stood still when it began
}

// isTimed reports whether the ends of the handlers of a key are noted.
func isTimed(key string) bool { return alone(key) || backend.KindOf(key) == limitPrefix }

// timed takes a firing of a timed key, and judges a firing during a pause: the entry must
// have been claimed before (promise 11).
func (t *trial) timed(f Firing) {
	runs := t.runs[f.Key]
	if f.Begin != 0 {
		if f.Cut {
			t.cut[handlerCall{f.ID, f.Worker, f.Begin}] = true
		}
		i := slices.IndexFunc(runs, func(r *run) bool { return r.ID == f.ID && r.Worker == f.Worker && r.At == f.Begin })
		if i >= 0 {
			runs[i].end = f.At
		}
		if i >= 0 && f.Cut { // the context ends with the lease, and the handler shortly after that
			runs[i].end = max(f.Begin, f.At-hiccup)
		}
		return
	}
	if isTimed(f.Key) {
		t.runs[f.Key] = append(runs, &run{Firing: f, end: math.MaxInt64})
	}
	for _, p := range t.pauses {
		if has(p.Scope, f) && p.From < f.At && f.At < p.To && (f.Due > p.From+claimAhead || t.stored[f.Generation] > p.From) {
			t.violated("%s fired during a pause of %+v: %+v", f.Key, p, f)
		}
	}
}

// handlers judges the handlers of keys that run alone (promise 10) or have a limit (promise 12). A stalled
// process keeps its handlers beyond the end of its lease: the handlers count until the lease ends.
func (t *trial) handlers(faults []Fault) {
	var limited []*run
	for key, runs := range t.runs {
		for _, r := range runs {
			r.stall(faults)
			if r.end == math.MaxInt64 {
				t.violated("the handler of %+v did not end", r.Firing)
			}
		}
		if alone(key) {
			t.concurrent(runs, 1, func(*run) bool { return true })
		} else {
			limited = append(limited, runs...)
		}
	}
	begun := 0
	for _, l := range t.limits {
		begun += t.limit(l, limited)
	}
	if len(t.limits) > 0 && begun == 0 {
		t.violated("no handler began under a limit")
	}
}

// stall ends a run with its process.
func (r *run) stall(faults []Fault) {
	for _, f := range faults {
		if f.Stops && f.hits(r.Worker, r.At, r.end) {
			r.end = min(r.end, max(f.Begin, r.At))
			r.stalled = r.stalled || f.Begin <= r.At
		}
	}
}

// concurrent judges each of some runs: fewer than most others run when it begins.
func (t *trial) concurrent(runs []*run, most int, judged func(r *run) bool) {
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.At, b.At) })
	for i, r := range runs {
		others := slices.DeleteFunc(slices.Clone(runs[:i]), func(other *run) bool { return other.end <= r.At })
		if len(others) >= most && judged(r) {
			t.violated("%d handlers overlapped (expected: up to %d): %+v, and %+v until %d", len(others)+1, most, r.Firing, others[0].Firing, others[0].end)
		}
	}
}

// limit judges the runs under a limit, and returns the number of those that began under it. A process that stood still
// between the permit and the handler may begin the handler too late.
func (t *trial) limit(l limited, all []*run) int {
	runs := slices.DeleteFunc(slices.Clone(all), func(r *run) bool { return !has(l.Scope, r.Firing) || r.end < l.From || r.At > l.To })
	judged := func(r *run) bool { return r.At >= l.From && !r.stalled }
	if l.Running > 0 {
		t.concurrent(runs, l.Running, judged)
	}
	begun := slices.DeleteFunc(runs, func(r *run) bool { return !judged(r) })
	slices.SortFunc(begun, func(a, b *run) int { return cmp.Compare(a.At, b.At) })
	for i, first := range begun {
		for n, last := range begun[i:] {
			span := time.Duration(last.At - first.At + hiccup)
			if l.PerSecond > 0 && float64(n+1) > float64(l.Burst)+l.PerSecond*span.Seconds() {
				t.violated("%d handlers began within %v under %+v, the last one of %+v", n+1, span-time.Duration(hiccup), l, last.Firing)
				return len(begun)
			}
		}
	}
	return len(begun)
}
