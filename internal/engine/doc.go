// Package engine is the common part of the wheel engines: the states of a timeout, its
// way from the caller to the worker and back, the worker goroutine, stopping, and leak
// detection. The engines differ only in where timeouts wait for their tick: each brings a
// [Wheel], built on the buckets of package store.
//
// # How a timeout travels
//
//	NewTimeout ──push──▶ intake ──drain──▶ wheel ──collect──▶ due ──fire──▶ task
//	                      ▲  stripes          │
//	Cancel, Reset ────────┘                   └─ removed if cancelled
//
// A timer has one worker or several. Each is a [Core] with its own intake, wheel and
// goroutine. The [Handle] spreads the timeouts over them. The rest holds for each worker.
//
// A caller usually writes only the timeout's state word and one stripe of the intake. If
// the worker is late or the stripe is full, the caller takes mu and drains a batch
// (pace.go). Everything right of the intake belongs to the holder of mu. The worker holds
// it while it works on the wheel, and releases it to sleep and to run users' code.
// Therefore Stop can always take the wheel over.
//
// # The files
//
// The way of a timeout, in its order: handle.go (NewTimeout), timeout.go (the word that
// decides every race), cancel.go (Cancel, Reset), intake.go (the queues), core.go and
// worker.go (the goroutine and its steps), drain.go (from the intake to the wheel),
// wheel.go and package store (the buckets), schedule.go (from the wheel to due),
// firing.go (due timeouts and their tasks), stop.go and shutdown.go.
//
// Beside that way: batch.go (many timeouts in one push), walk.go and marks.go (All),
// inspect.go (the live page), pace.go (callers that help), sleeper.go (alarm and relief),
// group.go (the workers of a timer), watchdog.go and timing.go (slow tasks, lateness),
// cleanup.go (timers that are never stopped), goroutine.go, setup.go and options.go.
package engine
