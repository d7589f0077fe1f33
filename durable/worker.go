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
	works       *works
	stop        context.CancelCauseFunc // ends Work
	endWork     context.CancelFunc      // ends the handlers' contexts
	wheel       *hashedwheel.Timer
	fetcher     *fetcher
	claimer     *claimer
	limiter     *limiter
	sharer      *sharer
	dispatchers []*dispatcher // one per kind
	completer   *completer
}

// newWorker returns a worker for kinds and their handlers.
func newWorker(ctx context.Context, e *env, all *works, ks []*kind, handlers []Handler, stop context.CancelCauseFunc) (*worker, error) {
	wheel, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:         time.Millisecond,
		TicksPerWheel:        1 << 12, // one rotation is longer than the lead
		Name:                 "durable",
		DisableLeakDetection: true, // Work stops the wheel
	})
	if err != nil {
		return nil, err
	}
	byName := make(kinds)
	total := &memory{}
	for _, k := range ks {
		byName[k.name] = k
		k.memory = &memory{most: k.options.MaxHeld, least: overdueAhead * k.options.Concurrency}
		total.most, total.least = total.most+k.memory.most, total.least+k.memory.least
	}
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	s := &sweep{look: make(chan struct{}, 1)}
	shared := common{e, newLeaseKeeper(e, s, work), newFlights(byName, total, s.look), s}
	w := &worker{common: shared, works: all, stop: stop, endWork: endWork, wheel: wheel, completer: newCompleter(shared)}
	w.limiter = newLimiter(shared, w.completer)
	w.sharer = &sharer{common: shared, limiter: w.limiter}
	feeds, names, schedules, serial := []*feed{}, []string{}, make(map[string]bool), false
	for i, k := range ks {
		d := &dispatcher{common: shared, completer: w.completer, limiter: w.limiter, wheel: wheel,
			kind: k, handler: handlers[i], callers: make(callers, k.options.Concurrency)}
		d.queue = newQueue(d.start)
		w.dispatchers = append(w.dispatchers, d)
		w.limiter.parts = append(w.limiter.parts, limitedKind{k, d.callers, d.queue})
		if byName[""] != nil {
			k.memory = total
		}
		if byName[""] == nil || k.name == "" {
			feeds = append(feeds, newFeed(k))
		}
		if byName[""] == nil {
			names = append(names, k.name)
		}
		serial = serial || k.options.Serial
		for name := range k.options.Schedules {
			schedules[name] = true
		}
	}
	w.claimer = newClaimer(shared, w.completer, w.limiter, w.dispatchers)
	w.fetcher = &fetcher{common: shared, claimer: w.claimer, limiter: w.limiter, sharer: w.sharer, wakeOthers: func() { all.wake(w) },
		kinds: names, schedules: slices.Sorted(maps.Keys(schedules)), serial: serial, feeds: feeds}
	if len(names) > 0 && e.together(len(names)) > 0 {
		w.fetcher.feeds, w.fetcher.together = []*feed{newFeed(nil)}, &together{feeds: feeds}
	}
	return w, nil
}

// run works until ctx ends, and then drains.
func (w *worker) run(ctx context.Context) {
	background, end := context.WithCancel(context.Background())
	defer end()
	var loops sync.WaitGroup
	loops.Go(func() { w.lease.run(background) })
	loops.Go(func() { w.sharer.run(background) })
	loops.Go(func() { w.claimer.run(background) })
	loops.Go(func() { w.completer.run(background) })
	if err := w.fetcher.run(ctx); err != nil {
		w.stop(err)
	}
	w.drain()
	for _, d := range w.dispatchers {
		d.handlers.Wait()
	}
	w.completer.flushAll()
	end()
	loops.Wait()
	tried.end(w.flights)
	w.wheel.Stop()
	w.lease.leave()
	w.works.wake(w) // other Works take over
	if w.completer.released.Load() {
		w.backend.Announce()
	}
}

// drain leaves unclaimed rows to other workers, and waits until the claimed ones are
// done or the longest DrainTimeout has passed. It then lets no further handler start, and ends the
// contexts of those that run.
func (w *worker) drain() {
	w.flights.close()
	w.claimer.close()
	w.flights.remove(w.limiter.close()...)
	w.works.retire(w) // near rows go to other Works from here on
	w.claimer.flushSoon()
	var returned sync.WaitGroup
	returned.Go(w.fetcher.returnLeased)
	defer returned.Wait()
	var patience time.Duration
	for _, d := range w.dispatchers {
		patience = max(patience, d.kind.options.DrainTimeout)
	}
	select {
	case <-w.flights.emptied.Done():
	case <-time.After(patience):
	}
	for _, d := range w.dispatchers {
		d.close()
	}
	w.endWork()
}

// running returns the number of running handlers of a kind, the time since the first of them was
// called, and the due time of the first claimed row that waits for a handler, or 0. The pattern ""
// stands for all kinds.
func (w *worker) running(pattern string) (n int64, oldest time.Duration, waiting int64) {
	for _, d := range w.dispatchers {
		if pattern != "" && pattern != d.kind.pattern {
			continue
		}
		more, age := d.callers.running()
		n, oldest = n+more, max(oldest, age)
		waiting = sooner(waiting, d.queue.oldest())
	}
	_, due := w.limiter.held()
	return n, oldest, sooner(waiting, due)
}

// runsIn reports whether a handler of the Work runs in the goroutine.
func (w *worker) runsIn(goroutine uint64) bool {
	return slices.ContainsFunc(w.dispatchers, func(d *dispatcher) bool { return d.callers.runsIn(goroutine) })
}
