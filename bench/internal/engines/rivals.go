package engines

import (
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
	"github.com/antlabs/timer"
	"github.com/zeromicro/go-zero/core/collection"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// summarized are the measurements of the summary. Rivals that run timeouts early or lose them
// have no others.
var summarized = []string{spec.Cancel, spec.Heap, spec.Expire, spec.Correct}

// foreign are the measurements of the harnesses in other languages.
var foreign = []string{spec.Cancel, spec.Heap, spec.Expire, spec.Burst, spec.Sustained}

// rivals returns the other timers.
func rivals() []Kind {
	standard := Kind{
		Name: "AfterFunc", Package: "time", Setting: "no tick", Each: true, Verdict: true,
		New: func() (Engine, error) { return afterFunc{}, nil },
	}
	return []Kind{
		standard, nextKind(standard),
		{
			Name: "RussellLuo", Package: "github.com/RussellLuo/timingwheel",
			Setting: "tick 1 ms, 8192 buckets per level (its README: 20; more is cheaper)",
			Each:    true, Verdict: true, Tick: fineTick, Only: summarized,
			New: func() (Engine, error) {
				wheel := timingwheel.NewTimingWheel(fineTick, fineTicks)
				wheel.Start()
				return russellLuo{wheel}, nil
			},
		},
		{
			Name: "antlabs", Package: "github.com/antlabs/timer", Setting: "tick 10 ms, which is fixed",
			Each: true, Verdict: true, Tick: 10 * time.Millisecond, Only: summarized,
			New: func() (Engine, error) {
				wheel := timer.NewTimer(timer.WithTimeWheel())
				go wheel.Run()
				return antlabs{wheel}, nil
			},
		},
		{
			Name: "go-zero", Package: "github.com/zeromicro/go-zero/core/collection",
			Setting: "TimingWheel, tick 1 ms, 8192 slots (its own cache: 1 s, 300 slots)",
			Tick:    fineTick, Only: []string{spec.Correct}, // too slow for the others
			New: func() (Engine, error) {
				wheel, err := collection.NewTimingWheel(fineTick, fineTicks, func(_, f any) { f.(func())() })
				return &goZero{wheel: wheel}, err
			},
		},
		{
			Name: "Netty", Package: "io.netty.util.HashedWheelTimer",
			Setting: "on a JVM; tick 1 ms, 8192 ticks (the defaults: 100 ms, 512)",
			Foreign: true, Verdict: true, Tick: fineTick, Only: foreign,
			Newer: "Netty 4.1.48 is of March 2020. Netty 4.2 has the same wheel, with newer queues and a notification of cancelled tasks.",
		},
		{
			Name: "JDK", Package: "java.util.concurrent.ScheduledThreadPoolExecutor",
			Setting: "on a JVM; one thread, cancelled timeouts removed",
			Foreign: true, Verdict: true, Only: []string{spec.Cancel, spec.Heap, spec.Expire, spec.Sustained},
			Newer: "JDK 25 adds a scheduler of timeouts to ForkJoinPool, DelayScheduler, which was made for cancelled ones.",
		},
		{
			Name: "tokio", Package: "tokio::time", Setting: "in Rust; tick 1 ms, which is fixed",
			Foreign: true, Tick: fineTick, Only: foreign,
			Newer: "Newer releases of tokio have an experimental alternative timer.",
		},
	}
}

// afterFunc is package time.
type afterFunc struct{}

func (afterFunc) Schedule(delay time.Duration, f func()) Handle { return time.AfterFunc(delay, f) }

func (afterFunc) Cancel(h Handle) bool { return h.(*time.Timer).Stop() }

func (afterFunc) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(*time.Timer).Reset(delay)
	return h
}

// russellLuo has no reset.
type russellLuo struct{ wheel *timingwheel.TimingWheel }

func (r russellLuo) Schedule(delay time.Duration, f func()) Handle {
	return r.wheel.AfterFunc(delay, f)
}

func (r russellLuo) Cancel(h Handle) bool { return h.(*timingwheel.Timer).Stop() }

func (r russellLuo) Reset(h Handle, delay time.Duration, f func()) Handle {
	r.Cancel(h)
	return r.Schedule(delay, f)
}

// antlabs does not use the library's Reset, which may hang.
type antlabs struct{ wheel timer.Timer }

func (a antlabs) Schedule(delay time.Duration, f func()) Handle {
	return a.wheel.AfterFunc(max(delay, 0), f)
}

func (a antlabs) Cancel(h Handle) bool { return h.(timer.TimeNoder).Stop() }

func (a antlabs) Reset(h Handle, delay time.Duration, f func()) Handle {
	a.Cancel(h)
	return a.Schedule(delay, f)
}

// goZero is a wheel of keyed timeouts. It rejects delays that are not positive.
type goZero struct {
	wheel *collection.TimingWheel
	last  atomic.Int64
}

func (g *goZero) Schedule(delay time.Duration, f func()) Handle {
	var key any = g.last.Add(1)
	must(g.wheel.SetTimer(key, f, max(delay, 1)))
	return key
}

func (g *goZero) Cancel(h Handle) bool { return g.wheel.RemoveTimer(h) == nil }

func (g *goZero) Reset(h Handle, delay time.Duration, _ func()) Handle {
	must(g.wheel.MoveTimer(h, max(delay, 1)))
	return h
}
