package durable

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// Ground rules
//
//	W1. A held row is always in exactly one place, which its stage names. The goroutine that
//	    takes it from one place moves it into the next. Only the moves in follows are legal.
//	W2. Nothing on the wheel's goroutine blocks.
//	W3. No handler starts before the row is claimed and due, or after the lease ended.
//	W4. A row leaves held after its outcome is stored, its claim was overtaken or is left
//	    to other workers, or the worker lost its lease before a handler succeeded. Until
//	    then only a copy that the database has claimed for the worker, or that is from a
//	    later lease, replaces it, and none replaces it after its handler has succeeded.

// worker is one Work.
type worker struct {
	store   *Store
	handler Handler
	options WorkOptions
	names   []string // of WorkOptions.Schedules, sorted
	wheel   *hashedwheel.Timer
	log     *slog.Logger
	stop    context.CancelCauseFunc // ends Work
	queue   *queue
	callers []caller
	lease   lease
	work    context.Context // ends when drain stops waiting for handlers
	endWork context.CancelFunc
	calls   context.Context         // parent of the handlers' contexts under the present lease. Guarded by mu.
	endCall context.CancelCauseFunc // Guarded by mu.

	look     chan struct{} // wakes feed; one element means look
	claims   chan struct{} // wakes storing of claims: there is an urgent one, or draining began
	outcomes chan struct{} // wakes storing of outcomes, together with claims
	rejoin   chan struct{} // wakes keepLease: the lease was lost

	damage string    // that was logged last. Of feed.
	logged time.Time // when it was. Of feed.

	sweep     atomic.Bool // rows behind the watermark may be new
	unplanned atomic.Bool // a row was dropped whose next occurrence is unknown
	released  atomic.Bool // a claimed row became pending again: other workers must look

	mu        sync.Mutex
	held      map[backend.Ref]*held // Guarded by mu.
	ahead     map[int64][]*held     // rows to claim later, by time of the claim in units of gather. Guarded by mu.
	claimable []*held               // rows to claim that were not yet due. Guarded by mu.
	backlog   []*held               // rows to claim that were overdue, oldest first. Guarded by mu.
	finished  []*held               // rows whose handlers returned. Guarded by mu.
	coming    int                   // rows that calls under way may return. Guarded by mu.
	draining  bool                  // no new rows are accepted. Guarded by mu.
	emptied   context.Context       // ends when draining and held is empty
	endWait   context.CancelFunc    // ends emptied
}

// held is a row in the hands of a worker. Its place has it alone, by W1.
type held struct {
	worker  *worker
	row     backend.Row
	stage   stage
	term    uint64 // lease under which it was taken
	gone    bool   // from held of the worker. Guarded by its mu.
	leased  bool   // the database has marked the row as leased. Guarded by its mu.
	done    bool   // its handler has succeeded. Guarded by its mu.
	claim   backend.Claim
	outcome backend.Outcome
}

func newWorker(ctx context.Context, s *Store, handler Handler, o WorkOptions, stop context.CancelCauseFunc) (*worker, error) {
	wheel, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:         time.Millisecond,
		TicksPerWheel:        1 << 12, // one rotation is longer than the lead
		Name:                 "durable",
		DisableLeakDetection: true, // Work stops the wheel
	})
	if err != nil {
		return nil, err
	}
	w := &worker{
		store:    s,
		handler:  handler,
		options:  o,
		names:    slices.Sorted(maps.Keys(o.Schedules)),
		wheel:    wheel,
		log:      s.options.Logger,
		stop:     stop,
		queue:    newQueue(),
		callers:  make([]caller, o.Concurrency),
		look:     make(chan struct{}, 1),
		claims:   make(chan struct{}, 1),
		outcomes: make(chan struct{}, 1),
		rejoin:   make(chan struct{}, 1),
		held:     make(map[backend.Ref]*held),
		ahead:    make(map[int64][]*held),
	}
	w.work, w.endWork = context.WithCancel(context.WithoutCancel(ctx))
	w.emptied, w.endWait = context.WithCancel(context.Background())
	w.calls, w.endCall = context.WithCancelCause(w.work)
	return w, nil
}

// run works until ctx ends, and then drains.
func (w *worker) run(ctx context.Context) {
	background, end := context.WithCancel(context.Background())
	defer end()
	var handlers, loops sync.WaitGroup
	for i := range w.callers {
		handlers.Add(1)
		go w.handle(&handlers, &w.callers[i])
	}
	loops.Go(func() { w.keepLease(background) })
	loops.Go(func() { w.keepBooks(background, w.claims, w.flushClaims) })
	loops.Go(func() { w.keepBooks(background, w.outcomes, w.flushOutcomes) })
	w.feed(ctx)
	w.drain()
	handlers.Wait()
	w.flushAll()
	end()
	loops.Wait()
	w.wheel.Stop()
	w.leave()
	w.store.wake(w) // other Works take over
	if w.released.Load() {
		w.store.backend.Announce()
	}
}

// drain leaves unclaimed rows to other workers, and waits until the claimed ones are
// done or DrainTimeout has passed. It then lets no further handler start, and ends the
// contexts of those that run.
func (w *worker) drain() {
	w.mu.Lock()
	w.draining = true
	for _, rows := range w.ahead {
		for _, h := range rows {
			w.forget(h)
		}
	}
	clear(w.ahead)
	w.checkEmpty()
	w.mu.Unlock()
	w.store.retire(w) // near rows go to other Works from here on
	w.hurry()
	var freed sync.WaitGroup
	freed.Go(w.free)
	defer freed.Wait()
	timeout := time.NewTimer(max(0, w.options.DrainTimeout))
	defer timeout.Stop()
	select {
	case <-w.emptied.Done():
	case <-timeout.C:
	}
	for _, h := range w.queue.close() {
		w.finish(h, backend.Outcome{Fate: backend.Release})
	}
	w.endWork()
}

// reserve returns the number of rows, up to most, that a call of the database may return.
// Until cancel, near rows leave room for them.
func (w *worker) reserve(most int) (n int, cancel func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = max(0, min(most, w.options.MaxHeld-len(w.held)-w.coming))
	w.coming += n
	return n, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.coming -= n
	}
}

// accept takes a row into held and puts it into its first place. It reports whether the
// row is held, now or already. A copy from an earlier lease is replaced, since it is never
// claimed. A row that the database has claimed for the worker, or marked a second time,
// replaces any copy: the claim of that one was overtaken, or is about to be. A row of a lease
// that was lost while the database answered is left to other workers. A row whose handler has
// succeeded is not taken again, even under a later lease: its outcome applies in any state.
func (w *worker) accept(row backend.Row, reserved bool) bool {
	w.mu.Lock()
	ref := row.Ref()
	id, term, valid := w.lease.current()
	old, marked := w.held[ref], row.Holder != 0
	if old != nil && (old.done || old.term == term && row.State == backend.Pending && !(old.leased && marked)) {
		old.leased = old.leased || marked
		w.mu.Unlock()
		return true
	}
	full := !reserved && len(w.held)+w.coming >= w.options.MaxHeld
	if w.draining || !valid || marked && row.Holder != id || full && !w.makeRoom(row.Due) {
		w.sweep.Store(true) // it comes again
		w.mu.Unlock()
		return false
	}
	if old != nil {
		old.gone = true
	}
	h := &held{worker: w, row: row, term: term, leased: marked}
	w.held[ref] = h
	w.mu.Unlock()
	w.store.counts.leased.Add(1)
	if row.State == backend.Claimed {
		w.awaitDue(h)
	} else {
		w.awaitClaim(h)
	}
	return true
}

// drop forgets a row.
func (w *worker) drop(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(h)
}

// forget is drop for callers that hold mu.
func (w *worker) forget(h *held) {
	h.move(dropped)
	if !h.gone {
		h.gone = true
		delete(w.held, h.row.Ref())
	}
	w.checkEmpty()
}

// checkEmpty ends the wait of drain. The caller holds mu.
func (w *worker) checkEmpty() {
	if w.draining && len(w.held) == 0 {
		w.endWait()
	}
}

// after calls f on the wheel after d, or in this goroutine if there is no wait.
func (w *worker) after(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	if _, err := w.wheel.AfterFunc(d, f); err != nil {
		f() // the wheel has stopped: Work has ended
	}
}

// untilDue returns the time until the row is due on the database's clock.
func (h *held) untilDue() time.Duration {
	return time.Duration(h.row.Due - h.worker.store.clock.nanos())
}
