// Package engine is what the wheel engines have in common: the life of a
// timeout, the way it takes from the caller to the worker and back, the worker
// goroutine, stopping, and leak detection. Where timeouts wait for their tick
// is the one thing in which the engines differ; each brings a [Wheel].
//
// # How a timeout travels
//
//	NewTimeout ──push──▶ intake ──drain──▶ wheel ──expire──▶ due ──fire──▶ task
//	                      ▲  stripes          │
//	Cancel, Reset ────────┘                   └─ removed if cancelled
//
// A timer has one worker or several, each a [Core] with an intake, a wheel and a
// goroutine of its own; the [Handle] spreads the timeouts over them. What follows
// holds for each.
//
// A caller usually writes only the timeout's state word and one stripe of the
// intake. If the worker is late or the stripe is full, it takes Core.mu and settles
// a batch (pace.go). Everything right of the intake belongs to the holder of
// Core.mu: the worker while it works on the wheel, never while it sleeps or runs
// users' code, so that Stop can always take the wheel over.
//
// # The files
//
// The way of a timeout, in its order: handle.go (NewTimeout), timeout.go (Cancel,
// Reset), state.go (the word that decides what becomes of it), intake.go (the
// queues), core.go and worker.go (the goroutine and its steps), drain.go and
// settle.go (from the intake to the wheel, or out of it), wheel.go, bucket.go,
// chunks.go and singles.go (where it waits), fire.go (what comes due, and the tasks),
// stop.go and shutdown.go.
//
// Beside that way: batch.go (many at once), caller.go (who made it), all.go and
// inspect.go (what waits), pace.go (callers that help), sleeper.go (how the worker
// sleeps, and another takes over), held.go (the bound of cancelled ones),
// watchdog.go and timing.go (slow tasks, lateness), cleanup.go (timers that are
// never stopped), goroutine.go and options.go.
package engine
