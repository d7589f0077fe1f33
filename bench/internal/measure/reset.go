package measure

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// resetAll resets each of the pending timeouts once, to be due within the same second, and
// waits until the last has run: some engines put off the work. Meanwhile a bystander measures
// the longest stall.
func resetAll(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	var fired atomic.Int64
	task := func() { fired.Add(1) }
	floor, _ := e.(*engines.Floor)
	if floor != nil {
		floor.Keep()
	}
	handles := fill(e, s.Pending, task)
	lead := 2*time.Second + time.Duration(s.Pending)*2*time.Microsecond
	r := rand.New(rand.NewPCG(1, 2))
	runtime.GC()
	stalls := watchStalls()
	began, used := time.Now(), proc.Now()
	for i := range handles {
		handles[i] = e.Reset(handles[i], lead+time.Duration(r.Int64N(int64(time.Second)))-time.Since(began), task)
	}
	wall := time.Since(began)
	if wall > lead {
		return spec.Sample{Failure: fmt.Sprintf("took more than %v to reset %d timeouts", lead, s.Pending)}
	}
	if floor != nil {
		resets := proc.Now().Sub(used).CPU
		floor.Sort()
		used = proc.Now()
		floor.Run()
		return spec.Sample{Metrics: map[string]float64{
			spec.CPUNs: float64(resets+proc.Now().Sub(used).CPU) / float64(s.Pending), spec.WallNs: float64(wall) / float64(s.Pending),
		}}
	}
	for fired.Load() < int64(s.Pending) && time.Since(began) < lead+s.Span {
		time.Sleep(10 * time.Millisecond)
	}
	cpu := proc.Now().Sub(used).CPU
	return spec.Sample{Metrics: map[string]float64{
		spec.CPUNs: float64(cpu) / float64(s.Pending), spec.WallNs: float64(wall) / float64(s.Pending),
		spec.StallMs: float64(stalls()) / 1e6, spec.Lost: float64(int64(s.Pending) - fired.Load()),
	}}
}

// watchStalls starts a bystander, a goroutine with sleeps of a millisecond. The returned
// function ends it and returns by how much its longest sleep was too long.
func watchStalls() (longest func() time.Duration) {
	over, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		for {
			select {
			case <-over:
				result <- most
				return
			default:
			}
			began := time.Now()
			time.Sleep(time.Millisecond)
			most = max(most, time.Since(began)-time.Millisecond)
		}
	}()
	return func() time.Duration {
		close(over)
		return <-result
	}
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
