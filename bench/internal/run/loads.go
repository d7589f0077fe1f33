package run

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	keptPending  = 100_000 // by each producer at full speed
	resetPending = 400_000 // that one producer resets

	shortLivedRate = 4_000_000 // a second
	shortLivedLife = 100 * time.Millisecond

	longTick      = 100 * time.Millisecond
	longTickDelay = time.Second

	shortDelay = 100 * time.Millisecond // at sustained rates
)

// loads returns the cases of loads that go on.
func (z size) loads() (cases []spec.Spec) {
	add := func(c spec.Spec) {
		c.Span = z.load
		cases = append(cases, c)
	}
	for _, producers := range []int{1, 2} {
		add(spec.Spec{Measure: spec.FullSpeed, Producers: producers, Pending: keptPending})
	}
	add(spec.Spec{Measure: spec.ResetStorm, Pending: resetPending})
	add(spec.Spec{
		Measure: spec.ShortLived, Producers: 1, Rate: shortLivedRate,
		Pending: int(shortLivedRate * shortLivedLife.Seconds()),
	})
	for _, rate := range []int{1e6, 2e6} {
		add(spec.Spec{Measure: spec.LongTick, Producers: 1, Rate: rate, Delay: longTickDelay, Tick: longTick})
	}
	for _, producers := range []int{1, 2} {
		for _, rate := range z.rates {
			add(spec.Spec{Measure: spec.Sustained, Producers: producers, Rate: rate, Delay: shortDelay})
		}
	}
	for _, c := range []spec.Spec{{N: 20, Busy: 20}, {N: 20, Busy: 200}, {N: 200, Busy: 200}} {
		c.Measure = spec.Saturated
		add(c)
	}
	for _, rate := range []int{100, 1000, 10_000} {
		add(spec.Spec{Measure: spec.Trickle, Rate: rate})
	}
	for _, rate := range z.longRates { // last, as they take longest
		add(spec.Spec{Measure: spec.Sustained, Producers: 2, Rate: rate, Delay: z.longDelay})
	}
	return cases
}
