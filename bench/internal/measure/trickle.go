package measure

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	trickleDelay  = 20 * time.Millisecond
	trickleCancel = 3 * time.Millisecond // the life of the cancelled half
)

// trickle schedules s.Rate timeouts per second at random times, and cancels every second one
// after a short time. The results of every engine include the sleeping producer.
func trickle(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	p := newProbes(e, int(float64(s.Rate)*s.Span.Seconds())+100)
	t := trickler{engine: e, random: rand.New(rand.NewPCG(5, 6)), gap: time.Second / time.Duration(s.Rate)}
	t.run(newProbes(e, s.Rate), 500*time.Millisecond) // warm-up
	runtime.GC()
	began, before := time.Now(), proc.Now()
	t.run(p, s.Span)
	wall, usage := time.Since(began), proc.Now().Sub(before)
	sample := p.sample(patience)
	sample.Metrics[spec.CorePct] = 100 * float64(usage.CPU) / float64(wall)
	sample.Metrics[spec.WakeUps] = float64(usage.WakeUps) / wall.Seconds()
	return sample
}

// trickler is the producer of a trickle.
type trickler struct {
	engine engines.Engine
	random *rand.Rand
	gap    time.Duration // between two schedules, on average
}

// short is a timeout to cancel.
type short struct {
	at     time.Duration
	handle engines.Handle
}

// run schedules and cancels for the span.
func (t *trickler) run(p *probes, span time.Duration) {
	var shorts []short
	began, next, scheduled := time.Now(), time.Duration(0), 0
	for {
		now := time.Since(began)
		if now >= span {
			return
		}
		for ; next <= now; next += time.Duration(t.random.ExpFloat64() * float64(t.gap)) {
			if scheduled++; scheduled%2 == 0 {
				shorts = append(shorts, short{now + trickleCancel, t.engine.Schedule(trickleDelay, nop)})
			} else {
				p.schedule(trickleDelay)
			}
		}
		for len(shorts) > 0 && shorts[0].at <= now {
			t.engine.Cancel(shorts[0].handle)
			shorts = shorts[1:]
		}
		wake := min(next, span)
		if len(shorts) > 0 {
			wake = min(wake, shorts[0].at)
		}
		time.Sleep(wake - time.Since(began))
	}
}
