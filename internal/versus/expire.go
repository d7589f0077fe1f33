package versus

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Crowd is a million timeouts that expire within one second.
type Crowd struct {
	// Begin is the time from scheduling the first timeout to the first deadline. All
	// timeouts must be scheduled within it.
	Begin time.Duration

	// Waiting is the number of other pending timeouts, with delays up to ten minutes.
	Waiting int
}

// lateness records the lateness of each timeout.
type lateness struct {
	start time.Time
	late  []firing
	slip  []time.Duration // by number: the time that scheduling took
	fired atomic.Int64
}

// firing is the lateness of the timeout of that number.
type firing struct {
	number int
	late   time.Duration
}

func (l *lateness) fire(number int, deadline time.Duration) {
	l.late[l.fired.Add(1)-1] = firing{number, time.Since(l.start) - deadline}
}

// sort sorts the firings by lateness. A caller that loses the processor while it
// schedules gets a later deadline than it recorded. The difference is not the timer's
// lateness, so sort subtracts it.
func (l *lateness) sort() {
	for i, f := range l.late {
		if f.late > 0 {
			l.late[i].late = max(f.late-l.slip[f.number], 0)
		}
	}
	slices.SortFunc(l.late, func(a, b firing) int { return cmp.Compare(a.late, b.late) })
}

// report reports the extremes and returns the 99th percentile.
func (l *lateness) report(b *testing.B, who string) (p99 float64) {
	l.sort()
	b.ReportMetric(ms(l.late[0].late), who+"-min-late-ms")
	b.ReportMetric(ms(l.late[len(l.late)-1].late), who+"-max-late-ms")
	return ms(l.late[len(l.late)*99/100].late)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// schedule schedules the crowd, and returns a function that waits until all have
// fired.
func (c Crowd) schedule(b *testing.B, schedule func(time.Duration, func())) (*lateness, func()) {
	l := &lateness{late: make([]firing, million), slip: make([]time.Duration, million)}
	r := rand.New(rand.NewPCG(1, 2))
	l.start = time.Now()
	for i := range million {
		begun := time.Since(l.start)
		deadline := c.Begin + time.Duration(r.Int64N(int64(time.Second)))
		schedule(deadline-begun, func() { l.fire(i, deadline) })
		l.slip[i] = time.Since(l.start) - begun
	}
	if took := time.Since(l.start); took > c.Begin {
		b.Skipf("scheduling took %v: the machine is too busy for a comparison", took)
	}
	return l, func() {
		for l.fired.Load() < million {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Expire compares the CPU time and the lateness of the crowd. The lateness is the
// median of the rounds. Both sides read the clock in each task.
func Expire(b *testing.B, newTimer Factory, c Crowd) {
	for b.Loop() {
		var a, t, ours, theirs []float64
		for range Rounds {
			timer := newTimer.start(b)
			waiting := spread(c.Waiting, 30*time.Second, 10*time.Minute)
			fillTimer(b, timer, waiting)
			l, wait := c.schedule(b, func(d time.Duration, f func()) { timer.AfterFunc(d, f) })
			a = append(a, CPU(b, million, wait))
			ours = append(ours, l.report(b, "hwt"))
			timer.Stop()

			stop := fillRuntime(waiting)
			l, wait = c.schedule(b, func(d time.Duration, f func()) { time.AfterFunc(d, f) })
			t = append(t, CPU(b, million, wait))
			theirs = append(theirs, l.report(b, "runtime"))
			stop()
		}
		Report(b, a, t)
		b.ReportMetric(Median(ours), "hwt-p99-late-ms")
		b.ReportMetric(Median(theirs), "runtime-p99-late-ms")
	}
}
