package keyed

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// Drain takes out every pending pair and calls f with each, several at a time,
// up to the limit of WithDrainWorkers, on goroutines of its own. It returns when
// the last of them has. Each pair is drained by one Drain, and its own callback
// does not run.
//
// All pairs are out of the wheel before the first call of f, so that f finds it
// empty and may use it in any way: what f sets is pending afterwards.
//
// It takes time and memory proportional to what is pending. It returns
// ErrClosed after Stop, and a *DrainError if f panicked or ended its goroutine;
// no pair goes without its call for that.
func (w *Wheel[K, V]) Drain(f func(key K, value V)) error {
	if f == nil {
		return errors.New("keyed: Drain: nil (expected: a function)")
	}
	if w.closed.Load() {
		return ErrClosed
	}
	d := &drain[K, V]{f: f, taken: make([]taken[K, V], 0, w.Len())}
	w.sweep(func(key K, value V) { d.taken = append(d.taken, taken[K, V]{key, value}) })
	w.drained.Add(int64(len(d.taken)))
	for range min(w.workers, len(d.taken)) {
		d.workers.Go(d.work)
	}
	d.workers.Wait()
	return d.err()
}

// taken is a pair that a drain took out of the wheel.
type taken[K comparable, V any] struct {
	key   K
	value V
}

// drain is one call of Drain.
type drain[K comparable, V any] struct {
	f       func(K, V)    // Immutable.
	taken   []taken[K, V] // Immutable once the workers run.
	next    atomic.Int64  // index in taken. Atomic: written by the workers.
	workers sync.WaitGroup

	mu     sync.Mutex
	failed int   // Guarded by mu.
	first  error // Guarded by mu.
}

// work calls f with one pair after another. A callback may end the goroutine;
// then another one goes on.
func (d *drain[K, V]) work() {
	finished := false
	defer func() {
		if !finished {
			d.workers.Go(d.work)
		}
	}()
	for i := d.next.Add(1) - 1; i < int64(len(d.taken)); i = d.next.Add(1) - 1 {
		d.call(d.taken[i])
	}
	finished = true
}

// call calls f in isolation.
func (d *drain[K, V]) call(t taken[K, V]) {
	returned := false
	defer func() {
		if !returned {
			d.broken(recover())
		}
	}()
	d.f(t.key, t.value)
	returned = true
}

// broken notes that a callback did not return: it panicked with recovered, or
// ended its goroutine.
func (d *drain[K, V]) broken(recovered any) {
	err := hwt.ErrGoexit
	if recovered != nil {
		err = &hwt.PanicError{Value: recovered, Stack: debug.Stack()}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed++
	if d.first == nil {
		d.first = err
	}
}

// err returns what Drain returns. The workers have ended.
func (d *drain[K, V]) err() error {
	if d.failed == 0 {
		return nil
	}
	return &DrainError{Failed: d.failed, Drained: len(d.taken), First: d.first}
}
