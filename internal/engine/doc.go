// Package engine is the common part of the wheel engines: the states of a timeout, its
// way from the caller to the worker and back, the worker goroutine, stopping, and leak
// detection. The engines differ only in where timeouts wait for their tick: each brings a
// [Wheel], built on the buckets of package store.
//
// # How a timeout travels
//
//	NewTimeout ──push──▶ intake ──drain──▶ wheel ──collect──▶ due ──fire──▶ task
//	                      ▲  stripes          │
//	Cancel, Reset, Arm ───┘                   └─ removed if cancelled
//
// A timer has one worker or several. Each is a [Core] with its own intake, wheel and
// goroutine. The [Handle] spreads the timeouts over them. The rest holds for each worker.
//
// A caller usually writes only the timeout's state word and one stripe of the intake. If
// the worker is late or the stripe is full, the caller takes mu and drains a batch.
// Everything right of the intake belongs to the holder of mu. The worker holds it while it
// works on the wheel, and releases it to sleep and to run users' code. Therefore Stop can
// always take the wheel over.
//
// # The owners
//
// Each field of a Core belongs to an owner. Its methods use its own fields and their
// arguments. An owner reaches only the owners above it in this list.
//
//	setup      the configuration and the clock, the same for all workers
//	errands    runtime timers that call functions
//	intake     callers, without a lock: stripes, counts
//	signal     atomic words by which callers and worker reach each other
//	schedule   the holder of mu: the wheel, draining, storing, collecting
//	firing     the worker: notices and due timeouts of a tick, lateness, slow tasks
//	worker     the goroutine: steps, sleep, relief; drives schedule and firing
//
// # The files
//
// A file uses those before it. A test lists the exceptions, which are few.
//
//	wheel.go, options.go            the interface of the engines, and their settings
//	setup.go, goroutine.go
//	errand.go                       timers with goroutines that Stop waits for
//	timeout.go                      the timeout, and the word that decides every race
//	marks.go                        the bits by which loops know the timeouts they saw
//	intake.go                       the queues from callers to the worker, and signal
//	early.go                        few timeouts, by their deadlines instead of ticks
//	schedule.go, drain.go           storing one timeout, collecting; draining, ticks
//	timing.go, watchdog.go
//	firing.go                       due timeouts and their tasks
//	sleeper.go, worker.go           alarm and relief; the worker's steps
//	core.go, cleanup.go             one worker with its owners; timers that are never stopped
//	pace.go                         callers that wake the worker, or help it
//	handle.go, batch.go             NewTimeout; many timeouts in one push
//	cancel.go                       Cancel, Reset; how a cancelled timeout leaves its bucket
//	event.go                        timeouts that live in users' objects, and their lives
//	stop.go, shutdown.go
//	walk.go, inspect.go             All; the live page
//
// Package store has the buckets. A node leaves its bucket in store/remove.go.
package engine
