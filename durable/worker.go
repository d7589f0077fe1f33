package durable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
)

// worker is one Work: its roles, and the order in which they begin and end.
type worker struct {
	common
	works      *works
	stop       context.CancelCauseFunc // ends Work
	endWork    context.CancelFunc      // ends the handlers' contexts
	wheel      *hashedwheel.Timer
	fetcher    *fetcher
	claimer    *claimer
	dispatcher *dispatcher
	completer  *completer
}

func newWorker(ctx context.Context, e *env, all *works, handler Handler, o WorkOptions, stop context.CancelCauseFunc) (*worker, error) {
	wheel, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:         time.Millisecond,
		TicksPerWheel:        1 << 12, // one rotation is longer than the lead
		Name:                 "durable",
		DisableLeakDetection: true, // Work stops the wheel
	})
	if err != nil {
		return nil, err
	}
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	s := &sweep{look: make(chan struct{}, 1)}
	shared := common{e, newLeaseKeeper(e, s, work), newFlights(o.MaxHeld), s}
	done := newCompleter(shared)
	d := &dispatcher{common: shared, completer: done, wheel: wheel, handler: handler, work: o,
		queue: newQueue(), callers: make(callers, o.Concurrency)}
	c := newClaimer(shared, done, d, &planner{shared, o.Schedules})
	w := &worker{common: shared, works: all, stop: stop, endWork: endWork, wheel: wheel, claimer: c, dispatcher: d, completer: done}
	w.fetcher = &fetcher{common: shared, dispatcher: d, claimer: c,
		wakeOthers: func() { all.wake(w) }, schedules: slices.Sorted(maps.Keys(o.Schedules))}
	return w, nil
}

// run works until ctx ends, and then drains.
func (w *worker) run(ctx context.Context) {
	background, end := context.WithCancel(context.Background())
	defer end()
	w.dispatcher.start()
	var loops sync.WaitGroup
	loops.Go(func() { w.lease.run(background) })
	loops.Go(func() { w.claimer.run(background) })
	loops.Go(func() { w.completer.run(background) })
	if err := w.fetcher.run(ctx); err != nil {
		w.stop(err)
	}
	w.drain()
	w.dispatcher.handlers.Wait()
	w.completer.flushAll()
	end()
	loops.Wait()
	w.wheel.Stop()
	w.lease.leave()
	w.works.wake(w) // other Works take over
	if w.completer.released.Load() {
		w.backend.Announce()
	}
}

// drain leaves unclaimed rows to other workers, and waits until the claimed ones are
// done or DrainTimeout has passed. It then lets no further handler start, and ends the
// contexts of those that run.
func (w *worker) drain() {
	w.flights.close()
	w.claimer.close()
	w.works.retire(w) // near rows go to other Works from here on
	w.claimer.flushSoon()
	var returned sync.WaitGroup
	returned.Go(w.fetcher.returnLeased)
	defer returned.Wait()
	w.dispatcher.drain()
	w.endWork()
}
