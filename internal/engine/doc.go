// Package engine is the common part of the wheel engines: the states of a timeout, the way
// from the caller to the worker and back, the worker goroutine, stopping, and leak
// detection. The engines differ only in the place where timeouts wait for a tick: each
// brings a
// [Wheel], built on the buckets of package store.
//
// # How a timeout travels
//
//	NewTimeout ──push──▶ intake ──drain──▶ wheel ──collect──▶ due ──fire──▶ task
//	                      ▲  stripes          │
//	Cancel, Reset, Arm ───┘                   └─ removed if cancelled
//
// A timer has one worker or several. Each is a [Core] with an intake, a wheel, and a
// goroutine. The [Handle] spreads the timeouts over the workers. The rest holds for each
// worker.
//
// A caller usually writes only the timeout's state word and one stripe of the intake. If the
// worker is late or the stripe is full, the caller takes mu and drains a batch. Everything
// right of the intake belongs to the holder of mu. The worker holds mu during work on the
// wheel, and releases mu to sleep and to run users' code. Stop can take mu, and with it the
// wheel, at any time.
//
// # The owners
//
// Each field of a Core belongs to an owner, and each owner to one file. Only that file writes
// the owner's fields; a test checks this rule. An owner uses only owners above it in the
// list.
//
//	env        the configuration and the clock, the same for all workers
//	intake     callers, without a lock: queues, counts, the worker's phase and alarm
//	schedule   the holder of mu: the wheel, draining, storing, collecting
//	firing     the worker: notices and due timeouts of a tick, lateness, slow tasks
//	worker     the goroutine: steps, and when it sleeps; drives schedule and firing
//
// core.go connects the owners: callers that wake the worker, or help it.
//
// # The files
//
// A file uses only earlier files, except in three pairs: TestFilesKeepTheirOrder.
//
//	wheel.go, options.go     the interface of the engines, and their settings
//	env.go, goroutine.go
//	timeout.go               the timeout, and the word that decides every race
//	intake.go
//	schedule.go
//	firing.go
//	relief.go                goroutines that take the place of a late worker
//	worker.go
//	core.go, cleanup.go      cleanup is for timers that are never stopped
//	handle.go, batch.go      the callers' side: NewTimeout, Cancel, Reset; batches
//	event.go                 timeouts that live in users' objects, and their lives
//	stop.go, shutdown.go
//	walk.go                  All, and the bits by which loops know the timeouts they saw
//	inspect.go               the live page
//
// Package store has the buckets. TestTheHotPathIsInFewFiles prints the files on the hot path
// of all packages (go test -v -run HotPath ./internal/engine), and bounds their number.
package engine
