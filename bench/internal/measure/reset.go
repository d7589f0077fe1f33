package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// resetAll moves each of the pending timeouts to an earlier time, once.
func resetAll(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	handles := fill(e, s.Pending)
	next := far(1)
	return spec.Sample{Metrics: timed(1, func() int {
		i := 0
		return repeat(s.Pending, func() {
			handles[i] = e.Reset(handles[i], next()/2, nop)
			i++
		})
	})}
}

// heartbeats resets each of many timeouts at half its delay, at an even pace. Both the delay
// and the measured time are s.Span, so an engine that postpones work until the old deadline
// does it within the measurement.
func heartbeats(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	delay, turn := s.Span, s.Span/2
	handles := make([]engines.Handle, s.Pending)
	// The first turn schedules, which spreads the deadlines evenly.
	paced(s.Pending, turn, turn, func(i int) { handles[i] = e.Schedule(delay, nop) })
	beat := func(i int) {
		if handles[i] == nil { // the first turn did not reach it in time
			handles[i] = e.Schedule(delay, nop)
			return
		}
		handles[i] = e.Reset(handles[i], delay, nop)
	}
	paced(s.Pending, turn, turn, beat)
	began, used := time.Now(), proc.Now()
	done := paced(s.Pending, turn, s.Span, beat)
	wall, cpu := time.Since(began), proc.Now().Sub(used).CPU
	return spec.Sample{Metrics: map[string]float64{
		spec.CPUNs:   float64(cpu) / float64(max(1, done)),
		spec.CorePct: 100 * float64(cpu) / float64(wall),
		spec.Behind:  behind(float64(s.Pending)/turn.Seconds(), done, wall),
	}}
}

// paced calls f(0) to f(n-1) once per turn, evenly spread, until the span is over. It
// sleeps whenever it is ahead, and catches up at most a tenth of a turn. It returns the
// number of calls.
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
