package soak

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
)

// round is the life of one timer, with its counts.
//
// Ground rules: the counters are atomic, written by callers, tasks and callbacks,
// and read once all of those are done. Only busy is read before.
type round struct {
	timer  hwt.Engine
	length time.Duration
	began  time.Time
	end    context.CancelFunc // ends the round early
	seed   uint64

	mu  sync.Mutex
	all []*entry // that were accepted. Guarded by mu.

	operations  atomic.Int64 // of the callers
	accepted    atomic.Int64 // timeouts that NewTimeout returned
	unprocessed atomic.Int64 // timeouts that calls of Stop returned
	ran         atomic.Int64 // tasks that began
	busy        atomic.Int64 // tasks that are running
	toNotify    atomic.Int64 // cancelled timeouts whose tasks have a Cancelled method
	notified    atomic.Int64 // calls of Cancelled
	submitted   atomic.Int64 // tasks and callbacks given to the executor
	dropped     atomic.Int64 // those that it does not run
	faults      atomic.Int64 // injected ones, and those reported to the error handler

	stopping atomic.Bool // set before a call of Stop or Shutdown begins
	gaveUp   atomic.Bool // a Shutdown has returned an error
	wrong    wrong

	early atomic.Int64 // tasks that ran before their time
	twice atomic.Int64 // ends of timeouts that had ended before
	peak  atomic.Int64 // the most goroutines when a task began
}

// newRound makes the timer of a round. One round in three has an executor.
func newRound(e engines.Engine, tick time.Duration, workers int, length time.Duration, seed uint64, end context.CancelFunc) (*round, error) {
	r := &round{length: length, began: time.Now(), end: end, seed: seed}
	o := engines.Options{TickDuration: tick, Workers: workers, Logger: slog.New(slog.DiscardHandler), ErrorHandler: r.onError}
	if seed%3 == 0 {
		o.Executor = badExecutor{r}
	}
	var err error
	r.timer, err = e.New(o)
	return r, err
}

// onError is an error handler that panics now and then.
func (r *round) onError(hwt.Timeout, error) {
	if r.faults.Add(1)%16 == 0 {
		panic("the error handler")
	}
}

// run runs a round to its end.
func (r *round) run(ctx context.Context, callers int) *statsWatcher {
	watcher := watchStats(r.timer)
	var calling sync.WaitGroup
	for i := range callers {
		calling.Go(func() { r.operations.Add(r.call(ctx, i)) })
	}
	<-ctx.Done()
	shutdown := r.seed%4 < 2
	if r.seed%2 == 0 {
		calling.Wait()
		if finished := r.stop(shutdown); finished {
			r.checkFinished()
		}
	} else { // while they are still calling
		r.stop(shutdown)
		calling.Wait()
	}
	watcher.stop()
	return watcher
}

// stop stops the timer by its Shutdown or its Stop, and reports whether that was a
// Shutdown after which nothing may run. Tasks and callers may call it.
func (r *round) stop(shutdown bool) (finished bool) {
	r.stopping.Store(true)
	var unprocessed []hwt.Timeout
	if shutdown {
		unprocessed, finished = r.shutdown(shutdownWaits[r.seed/4%uint64(len(shutdownWaits))])
	} else {
		unprocessed = r.timer.Stop()
	}
	for _, timeout := range unprocessed {
		timeout.Task().(interface{ ended() }).ended()
	}
	r.unprocessed.Add(int64(len(unprocessed))) // last: check waits for it
	return finished
}

// taskBegins counts a task that begins and was due at that moment.
func (r *round) taskBegins(due int64) {
	raise(&r.peak, int64(runtime.NumGoroutine()))
	if r.now() < due {
		r.early.Add(1)
	}
	r.ran.Add(1)
}

// now returns the nanoseconds since the round began.
func (r *round) now() int64 { return int64(time.Since(r.began)) }

// after returns the moment delay from now, or the last one of the clock if that
// is past its range.
func (r *round) after(delay time.Duration) int64 {
	now := r.now()
	return now + min(int64(delay), math.MaxInt64-now)
}

// random returns the random numbers of a caller.
func (r *round) random(number int) *rand.Rand {
	return rand.New(rand.NewPCG(r.seed, uint64(number)))
}

// raise makes most at least v.
func raise(most *atomic.Int64, v int64) {
	for {
		now := most.Load()
		if v <= now || most.CompareAndSwap(now, v) {
			return
		}
	}
}
