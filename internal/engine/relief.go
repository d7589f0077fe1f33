package engine

import (
	"math"
	"time"
)

// Ground rules
//
// On a machine with many busy goroutines, a worker waits its turn for a processor after its
// alarm. A relief is a goroutine that takes the place of the sleeping worker, works until it
// would sleep, sets the alarm, and ends. The scheduler often runs the goroutine of a runtime
// timer next, because it was just created.
//
//	R1. Nothing depends on a relief: the alarm or the token wakes the worker, too. A relief
//	    ends if it finds the worker at work or on time, or mu locked.
//	R2. One relief comes after each token. Reliefs come after an alarm only if the worker was
//	    late by more than lateWake within the time wary. A machine with free processors
//	    does not pay for them.
//	R3. The caller that leaves a token sets its relief without mu. It then looks at phase, and
//	    stops the relief if the worker may have ended, which stops all. A holder of mu that
//	    sets an alarm meanwhile looks at phase, too, and sets the relief again.

// reliefAfter is the lateness of the worker at which each relief comes. Several are
// needed, because a relief itself may have to wait for a processor.
var reliefAfter = [...]time.Duration{0, maxOnTime, 2 * maxOnTime, 4 * maxOnTime, 8 * maxOnTime}

const (
	afterToken = 2 // the relief that comes after a token

	lateWake = 4 * time.Millisecond
	wary     = 10 * time.Second
)

// reliefs are the runtime timers that start reliefs.
type reliefs struct {
	errands   [len(reliefAfter)]errand // Immutable after init.
	waryUntil int64                    // the time until which alarms have reliefs (R2). Guarded by Core.mu.
}

func (r *reliefs) init(errands *errands, run func()) {
	for i := range r.errands {
		r.errands[i] = errands.make(run)
	}
}

// noteLate records that the worker wakes late by more than lateWake. Guarded by Core.mu.
func (r *reliefs) noteLate(now int64) { r.waryUntil = now + int64(wary) }

// set sets all reliefs for an alarm after d. d may be the longest duration. Guarded by Core.mu.
func (r *reliefs) set(d time.Duration) {
	for i := range r.errands {
		r.errands[i].Reset(min(d, math.MaxInt64-reliefAfter[i]) + reliefAfter[i])
	}
}

// setForToken sets the relief of a token that was left now.
func (r *reliefs) setForToken() { r.errands[afterToken].Reset(reliefAfter[afterToken]) }
