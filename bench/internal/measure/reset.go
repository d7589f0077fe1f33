package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// resetLater moves one timeout to ever later times.
func resetLater(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	return resetOne(s, e, time.Hour, time.Microsecond)
}

// resetEarlier moves one timeout to ever earlier times. A step is longer than a call
// takes, or the time would be later.
func resetEarlier(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	return resetOne(s, e, 2*time.Hour, -time.Millisecond)
}

func resetOne(s spec.Spec, e engines.Engine, delay, step time.Duration) spec.Sample {
	fill(e, s.Pending)
	h := e.Schedule(delay, nop)
	settle(1, 0)
	return spec.Sample{Metrics: timed(1, func() int {
		return repeat(s.N, func() {
			delay += step
			h = e.Reset(h, delay, nop)
		})
	})}
}

// resetAll moves each of the pending timeouts to earlier, once.
func resetAll(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	handles := fillAndHold(e, s.Pending)
	next := far(1)
	return spec.Sample{Metrics: timed(1, func() int {
		i := 0
		return repeat(s.Pending, func() {
			handles[i] = e.Reset(handles[i], next()/2, nop)
			i++
		})
	})}
}

// heartbeats resets each of many timeouts at half its delay, at an even pace. The delay
// is s.Span, and so is the time that is measured. An engine that puts work off until
// the old deadline has to do it here.
func heartbeats(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	delay, turn := s.Span, s.Span/2
	handles := make([]engines.Handle, s.Pending)
	// The first turn schedules, so that the deadlines are spread evenly.
	paced(s.Pending, turn, turn, func(i int) { handles[i] = e.Schedule(delay, nop) })
	beat := func(i int) {
		if handles[i] == nil { // the first turn was not made in time
			handles[i] = e.Schedule(delay, nop)
			return
		}
		handles[i] = e.Reset(handles[i], delay, nop)
	}
	paced(s.Pending, turn, turn, beat)
	began, used := time.Now(), proc.Now()
	done := paced(s.Pending, turn, s.Span, beat)
	return paceCost(s.Pending, turn, done, time.Since(began), proc.Now().Sub(used).CPU)
}

// paceCost returns what it cost to do n operations every turn, and what share of
// them was not done.
func paceCost(n int, turn time.Duration, done int, wall, cpu time.Duration) spec.Sample {
	wanted := float64(n) * float64(wall) / float64(turn)
	return spec.Sample{Metrics: map[string]float64{
		spec.CPUNs:   float64(cpu) / float64(max(1, done)),
		spec.CorePct: 100 * float64(cpu) / float64(wall),
		spec.Behind:  max(0, 100*(1-float64(done)/wanted)),
	}}
}

// paced calls f(0) to f(n-1) once every turn, again and again, evenly spread
// over it, until the span is over. It sleeps whenever it is ahead, and does not
// catch up more than a tenth of a turn. It returns how many calls it made.
func paced(n int, turn, span time.Duration, f func(i int)) (done int) {
	began := time.Now()
	skipped := 0
	for {
		now := time.Since(began)
		if now >= span {
			return done
		}
		due := int(float64(n)*float64(now)/float64(turn)) - skipped
		if most := n / 10; due-done > most {
			skipped += due - done - most
			due = done + most
		}
		for ; done < due; done++ {
			if f(done % n); done%256 == 0 && time.Since(began) >= span {
				return done + 1
			}
		}
		time.Sleep(time.Millisecond)
	}
}
