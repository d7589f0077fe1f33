// Package engine is what the wheel engines have in common: the life of a
// timeout, the way it takes from the caller to the worker and back, the worker
// goroutine, stopping, and leak detection. Where timeouts wait for their tick
// is the one thing in which the engines differ; each brings a [Wheel].
//
// # How a timeout travels
//
//	NewTimeout ──push──▶ intake ──settle──▶ wheel ──expire──▶ due ──fire──▶ task
//	                      ▲  one stripe        │
//	Cancel, Reset ────────┘  a processor       └─ removed once cancelled
//
// A caller only ever touches the timeout's own life word and one stripe of the
// intake. Everything right of the intake belongs to whoever holds Core.mu: the
// worker while it works on the wheel, never while it sleeps or runs users'
// code, so that Stop can always take the wheel over.
//
// The files, from the caller to the task: handle.go, timeout.go, life.go,
// intake.go, core.go, worker.go, drain.go, settle.go, bucket.go, chunks.go,
// fire.go, watch.go, stop.go; and lifetime.go for timers that nobody stops.
package engine
