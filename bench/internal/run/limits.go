package run

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// rounds returns how often s is measured: what takes long, half as often, and so an
// engine that is far behind.
func rounds(s spec.Spec, rounds int) int {
	switch s.Measure {
	case spec.Correct, spec.Moved, spec.Burst, spec.Sustained, spec.Idle, spec.Deadlines, spec.Goroutines:
		return max(rounds/2, 1)
	}
	if k, err := engines.Find(s.Engine); s.Pending > 1e6 || err == nil && k.Slow {
		return max(rounds/2, 1)
	}
	return rounds
}

// estimate returns about how long s takes.
func estimate(s spec.Spec) time.Duration {
	took := 400*time.Millisecond + time.Duration(s.N+s.Pending)*700*time.Nanosecond
	switch s.Measure {
	case spec.Expire, spec.Burst:
		return 4*time.Second + time.Duration(s.N)*5*time.Microsecond
	case spec.Correct, spec.Moved:
		return 7*s.Span + 2*time.Second
	case spec.Heartbeats:
		return 2*s.Span + time.Second
	case spec.FullSpeed, spec.ResetStorm, spec.ShortLived, spec.Saturated, spec.Trickle:
		return s.Span + 2*time.Second
	case spec.LongTick, spec.Sustained:
		return s.Span + 3*s.Delay + time.Second
	case spec.Idle, spec.Deadlines, spec.Goroutines:
		return took + s.Span + time.Second
	}
	return took
}

// limit is how long s may take before it is killed.
func limit(s spec.Spec) time.Duration {
	most := 6*time.Second + 10*s.Span + 4*s.Delay + time.Duration(min(s.N, 1e7)+s.Pending)*20*time.Microsecond
	if k, err := engines.Find(s.Engine); err == nil && k.Foreign {
		most += 20 * time.Second // until it is compiled
	}
	return most
}
