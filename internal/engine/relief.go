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
//	R1. Nothing depends on a relief: the alarm or the token makes the worker ready to run, and
//	    the scheduler runs each ready goroutine in its turn. The wait for this turn bounds the
//	    lateness if the relief of a token waits, too, or after the alarm that the relief sets.
//	    A relief ends if it finds the worker at work or on time, or mu locked. If mu is locked
//	    while phase is ticking, the relief of the token comes again.
//	R2. One relief comes after each token of a caller that moved phase. Reliefs come after
//	    alarms for the time wary after the worker was late by more than lateWake. The lateness
//	    after a token counts only if no relief came. A machine with free processors does not
//	    pay for reliefs.
//	R3. A worker that ends stops all reliefs. A caller may set the relief of a token after
//	    that, because it does so without mu. The caller therefore looks at phase afterwards,
//	    and stops the relief if the timer is stopped. A holder of mu that sets an alarm
//	    meanwhile looks at phase, too, and sets the relief again.

// reliefAfter is the lateness of the worker at which each relief comes. Several are
// needed, because a relief itself may have to wait for a processor.
var reliefAfter = [...]time.Duration{0, maxOnTime, 2 * maxOnTime, 4 * maxOnTime, 8 * maxOnTime}

const (
	// afterToken is the relief that comes after a token. A timer of a quiet process is up to a
	// millisecond late itself: an earlier relief would often come in addition to the worker.
	afterToken = 2

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
