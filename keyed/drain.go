package keyed

import (
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Drain removes all pending pairs and calls f with each, on up to DrainWorkers new
// goroutines (see [Options]). Drain returns after the last call. If several Drains run
// concurrently, each pair goes to one Drain. The callback given to New is not called for a
// drained pair.
//
// All pairs are removed before the first call of f, so f may use the wheel: a pair that f or
// another goroutine sets during Drain is pending, and is not drained.
//
// Drain takes time and memory proportional to the number of pending pairs. Drain returns
// ErrClosed after Close, and a *[DrainError] if f panicked or ended its goroutine; f is
// still called for every pair.
func (w *Wheel[K, V]) Drain(f func(Entry[K, V])) error {
	if f == nil {
		return check.Errorf("keyed: Drain: f is nil (expected: a function)")
	}
	if w.closed.Load() {
		return ErrClosed
	}
	d := &drain[K, V]{f: f, taken: make([]*pair[K, V], 0, w.Len())}
	w.sweep(func(p *pair[K, V]) { d.taken = append(d.taken, p) })
	w.drained.Add(int64(len(d.taken)))
	for range min(w.options.DrainWorkers, len(d.taken)) {
		d.workers.Go(d.work)
	}
	d.workers.Wait()
	return d.err()
}

// drain is one call of Drain.
type drain[K comparable, V any] struct {
	f       func(Entry[K, V]) // Immutable.
	taken   []*pair[K, V]     // Immutable once the workers run.
	next    atomic.Int64      // index in taken. Atomic: written by the workers.
	workers sync.WaitGroup

	mu     sync.Mutex
	failed int   // Guarded by mu.
	first  error // Guarded by mu.
}

// work calls f with one pair after another. If f ends the goroutine, work starts
// another worker.
func (d *drain[K, V]) work() {
	finished := false
	defer func() {
		if !finished {
			d.workers.Go(d.work)
		}
	}()
	for i := d.next.Add(1) - 1; i < int64(len(d.taken)); i = d.next.Add(1) - 1 {
		usercode.Run(func() {
			e := d.taken[i].entry()
			d.taken[i].take()
			d.f(e)
		}, d.fail)
	}
	finished = true
}

// fail records that f failed with err.
func (d *drain[K, V]) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed++
	if d.first == nil {
		d.first = err
	}
}

// err returns the error of Drain, once the workers have ended.
func (d *drain[K, V]) err() error {
	if d.failed == 0 {
		return nil
	}
	return &DrainError{Failed: d.failed, Drained: len(d.taken), First: d.first}
}
