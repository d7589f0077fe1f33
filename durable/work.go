package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/check"
)

// Handler is called for each timer that is due. If it returns nil, the timer is
// done. If it returns an error, panics, or ends its goroutine, the timer fires
// again later, with the same ID. Its context ends when Work gives up waiting for
// it, and when the lease on the timer is lost.
type Handler func(ctx context.Context, f Firing) error

// Defaults of [WorkOptions].
const (
	DefaultConcurrency  = 64
	DefaultMaxHeld      = 100_000
	DefaultMaxAttempts  = 25
	DefaultMinBackoff   = time.Second
	DefaultMaxBackoff   = 10 * time.Minute
	DefaultDrainTimeout = 30 * time.Second
)

// WorkOptions are the settings of one Work. The zero value of each field is its
// default.
type WorkOptions struct {
	// Concurrency is how many handlers run at a time, 1 to 100,000. 0 is the
	// default, 64.
	Concurrency int

	// MaxHeld is how many timers this Work holds at a time, in memory, from the
	// lead before they are due until they are done: 1 to 10,000,000. 0 is the
	// default, 100,000.
	MaxHeld int

	// MaxAttempts is how often a timer fires before it becomes a dead letter. 0 is
	// the default, 25. Negative means without limit.
	MaxAttempts int

	// MinBackoff and MaxBackoff bound the time between attempts: after attempt n it
	// is random between 0 and MinBackoff times 2^(n-1), but no more than
	// MaxBackoff. The defaults are 1 s and 10 min.
	MinBackoff, MaxBackoff time.Duration

	// Schedules resolves the names of recurring timers that have no Spec. A timer
	// whose name is missing here is left to other workers.
	Schedules map[string]clock.Schedule

	// DrainTimeout is how long Work waits for running handlers after its context
	// ended, before it ends theirs. 0 is the default, 30 s. If negative, it ends
	// them at once. In any case Work returns after they have returned.
	DrainTimeout time.Duration
}

func (o *WorkOptions) complete() (WorkOptions, error) {
	var c WorkOptions
	if o != nil {
		c = *o
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Concurrency < 1 || c.Concurrency > 100_000 {
		return c, refuseWork("Concurrency", c.Concurrency, "0 for the default, or 1 to 100000")
	}
	if c.MaxHeld == 0 {
		c.MaxHeld = DefaultMaxHeld
	}
	if c.MaxHeld < 1 || c.MaxHeld > 10_000_000 {
		return c, refuseWork("MaxHeld", c.MaxHeld, "0 for the default, or 1 to 10000000")
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = DefaultMaxAttempts
	}
	if c.MinBackoff == 0 {
		c.MinBackoff = DefaultMinBackoff
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = max(DefaultMaxBackoff, c.MinBackoff)
	}
	if c.MinBackoff < 0 || c.MinBackoff > 24*time.Hour {
		return c, refuseWork("MinBackoff", c.MinBackoff, "0 for the default, or up to 24h")
	}
	if c.MaxBackoff < c.MinBackoff || c.MaxBackoff > 365*24*time.Hour {
		return c, refuseWork("MaxBackoff", c.MaxBackoff, "0 for the default, or MinBackoff to 8760h")
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = DefaultDrainTimeout
	}
	return c, nil
}

func refuseWork(field string, value any, expected string) error {
	return check.InvalidIn("durable", "WorkOptions", field, value, expected)
}

// Work calls handler for each timer that is due, until ctx ends or the store is
// closed. It then hands unclaimed timers back, waits for those that it has
// claimed, and returns nil, or ErrClosed. If the server does not answer for as long
// as a lease lasts, which is Lead plus 4.5 s, it leaves them to other workers. Several
// Works may run, in one process or in many: each timer goes to one of them.
func (s *Store) Work(ctx context.Context, handler Handler, options *WorkOptions) error {
	if handler == nil {
		return fmt.Errorf("durable: Work: %w: handler is nil (expected: a function)", ErrInvalid)
	}
	o, err := options.complete()
	if err != nil {
		return err
	}
	wheel, err := newWheel()
	if err != nil {
		return err
	}
	defer wheel.Stop()
	w := newWorker(s, handler, o, wheel)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !s.enlist(w, cancel) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	defer s.discharge(w)
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("durable: Work: %w", err)
	}
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	return nil
}

// enlist notes a Work for Close, unless the store is closed.
func (s *Store) enlist(w *worker, cancel context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.works[w] = cancel
	return true
}

func (s *Store) discharge(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.works, w)
	s.idle.Broadcast()
}

// Ground rules
//
//	W1. A timer in the hands of a worker is a lease, in held from take until
//	    release. Each has one step under way at any time: a timeout of the wheel, a
//	    request to the server, a place in the queue, or a running handler. The step
//	    that ends starts the next. So a lease's fields need no lock, except those
//	    that the renewal reads as well: they are guarded by mu.
//	W2. Nothing on the wheel's goroutine or the publisher's blocks.
//	W3. No handler begins after the lease has ended, by fence.
//	W4. A message is acknowledged only after its handler returned and, if that
//	    failed, after the retry or the dead letter is stored; or if its fate is
//	    another.

// worker is one Work.
type worker struct {
	store   *Store
	handler Handler
	options WorkOptions
	wheel   *hashedwheel.Timer
	log     *slog.Logger
	queue   *queue
	calls   context.Context // of handlers
	endCall context.CancelCauseFunc

	background sync.WaitGroup  // what is neither a fetch loop nor a handler
	tasks      context.Context // of what inBackground runs
	endTasks   context.CancelCauseFunc
	behind     atomic.Bool // a timer was handed back because this clock is behind

	mu       sync.Mutex
	room     sync.Cond           // held shrank, or draining began
	held     map[leaseKey]*lease // Guarded by mu.
	reserved int                 // places for what a fetch may bring. Guarded by mu.
	draining bool                // Guarded by mu.
	drainsAt moment              // when draining began. Guarded by mu.
}

// leaseKey names a message.
type leaseKey struct {
	shard int
	seq   uint64
}

func newWorker(s *Store, handler Handler, o WorkOptions, wheel *hashedwheel.Timer) *worker {
	w := &worker{
		store:   s,
		handler: handler,
		options: o,
		wheel:   wheel,
		log:     s.log,
		queue:   newQueue(),
		held:    make(map[leaseKey]*lease),
	}
	w.room.L = &w.mu
	w.calls, w.endCall = context.WithCancelCause(context.Background())
	w.tasks, w.endTasks = context.WithCancelCause(s.ctx)
	return w
}

// run works until ctx ends, and drains.
func (w *worker) run(ctx context.Context) error {
	consumers, err := w.consumers(ctx)
	if err != nil {
		w.endTasks(nil)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	stop := context.AfterFunc(ctx, w.startDraining)
	defer stop()
	var handlers, fetchers sync.WaitGroup
	for range w.options.Concurrency {
		handlers.Add(1)
		go w.handle(&handlers)
	}
	for shard, consumer := range consumers {
		fetchers.Go(func() { w.fetch(ctx, shard, consumer) })
	}
	upkeep, endUpkeep := context.WithCancel(context.Background())
	w.background.Go(func() { w.renewals(upkeep) })
	w.background.Go(func() { w.audits(ctx) })
	fetchers.Wait()
	w.drain()
	w.queue.close()
	handlers.Wait()
	endUpkeep()
	w.endCall(nil)
	w.endTasks(errDrained)
	w.background.Wait()
	return nil
}
