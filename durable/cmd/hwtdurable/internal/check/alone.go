package check

import (
	"cmp"
	"math"
	"slices"
)

// handlerCall names the call of a handler.
type handlerCall struct {
	id     string
	worker int
	at     int64
}

// run is the time of a handler of a key that runs alone.
type run struct {
	Firing
	end int64
}

// timed takes a firing of a key that runs alone, and judges a firing during a pause: the entry must
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
	if alone(f.Key) {
		t.runs[f.Key] = append(runs, &run{f, math.MaxInt64})
	}
	for _, p := range t.pauses {
		if p.has(f) && p.From < f.At && f.At < p.To && (f.Due > p.From+claimAhead || t.stored[f.Generation] > p.From) {
			t.violated("%s fired during a pause of %+v: %+v", f.Key, p, f)
		}
	}
}

// alone judges the handlers of keys that run alone (promise 10). A stalled process keeps a handler
// beyond the end of its lease: the handler counts until the lease ends.
func (t *trial) alone(faults []Fault) {
	for key, runs := range t.runs {
		slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.At, b.At) })
		before := &run{}
		for _, r := range runs {
			for _, f := range faults {
				if f.Stops && f.hits(r.Worker, r.At, r.end) {
					r.end = min(r.end, max(f.Begin, r.At))
				}
			}
			if before.end > r.At {
				t.violated("two handlers of %s overlapped: %+v until %d, and %+v", key, before.Firing, before.end, r.Firing)
			}
			if r.end > before.end {
				before = r
			}
			if r.end == math.MaxInt64 {
				t.violated("the handler of %+v did not end", r.Firing)
			}
		}
	}
}
