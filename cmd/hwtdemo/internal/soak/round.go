package soak

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// round is the life of one timer.
type round struct {
	timer Timer
	began time.Time
	over  context.CancelFunc // ends the round early
	seed  uint64

	unprocessed atomic.Int64 // timeouts that calls of Stop returned
	early       atomic.Int64
	latest      atomic.Int64 // nanoseconds by which the latest task was late
	twice       atomic.Int64 // ends of timeouts that had ended before
	faults      atomic.Int64
	calls       [operations]atomic.Int64
	ran, told   atomic.Int64
	executed    atomic.Int64 // tasks and callbacks given to the executor
	dropped     atomic.Int64 // those that it will not run
	busy        atomic.Int64 // tasks that are running
	toTell      atomic.Int64 // cancelled timeouts whose tasks want to know

	mu  sync.Mutex
	all []*entry // Guarded by mu. Those that were accepted.
}

// operation is something that callers do.
type operation int

const (
	schedule operation = iota
	cancel
	reset
	ask
	stop
	operations
)

// roundOf makes the timer of a round.
func roundOf(e Engine, seed uint64, over context.CancelFunc) (*round, error) {
	r := &round{began: time.Now(), over: over, seed: seed}
	var err error
	parts := Parts{OnError: r.onError, Logger: slog.New(slog.DiscardHandler)}
	if seed%3 == 0 {
		parts.Executor = executor{r}
	}
	r.timer, err = e.Open(parts)
	return r, err
}

// onError is an error handler, which at times panics itself.
func (r *round) onError(hwt.Timeout, error) {
	if r.faults.Add(1)%16 == 0 {
		panic("the error handler as well")
	}
}

// round runs one round of e and books it.
func (s *Soak) round(ctx context.Context, e Engine, into *EngineReport, seed uint64) error {
	ctx, over := context.WithTimeout(ctx, s.config.Round)
	defer over()
	r, err := roundOf(e, seed, over)
	if err != nil {
		return err
	}
	stopLooking := look(r.timer)
	var callers sync.WaitGroup
	for i := range s.config.Callers {
		callers.Go(func() { s.call(ctx, r, uint64(i)) })
	}
	<-ctx.Done()
	if seed%2 == 0 {
		callers.Wait()
		r.stop()
	} else { // in the middle of their calls
		r.stop()
		callers.Wait()
	}
	before := len(into.Violations)
	r.check(into, stopLooking())
	s.violations.Add(int64(len(into.Violations) - before))
	s.rounds.Add(1)
	return nil
}

// call uses the timer until ctx ends, and a little longer.
func (s *Soak) call(ctx context.Context, r *round, who uint64) {
	random := rand.New(rand.NewPCG(r.seed, who))
	var mine [256]*entry
	for n := 0; ctx.Err() == nil || n%64 != 0; n++ {
		slot := &mine[random.IntN(len(mine))]
		switch e := *slot; {
		case e == nil || e.timeout.IsExpired() || e.timeout.IsCancelled():
			*slot = r.schedule(random)
		default:
			e.meddle(random)
		}
		s.operations.Add(1)
		if n%64 == 0 && random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.IntN(int(time.Millisecond))))
		}
	}
}

// schedule makes a timeout; nil if the timer was stopped.
func (r *round) schedule(random *rand.Rand) *entry {
	r.calls[schedule].Add(1)
	delay := someDelay(random)
	e := &entry{round: r, kind: random.IntN(1000)}
	e.floor.Store(r.after(delay))
	var task hwt.TimerTask = e
	if e.kind%2 == 0 {
		task = teller{e}
	}
	timeout, err := r.timer.NewTimeout(task, delay)
	if err != nil {
		return nil
	}
	e.timeout = timeout
	r.mu.Lock()
	r.all = append(r.all, e)
	r.mu.Unlock()
	return e
}

// someDelay is mostly short, at times none, and at times far beyond the round.
func someDelay(random *rand.Rand) time.Duration {
	switch random.IntN(8) {
	case 0:
		return 0
	case 1:
		return time.Duration(random.Int64())
	case 2:
		return time.Duration(random.IntN(int(time.Second)))
	}
	return time.Duration(random.IntN(int(20 * time.Millisecond)))
}

// stop stops the timer, from anywhere.
func (r *round) stop() {
	r.calls[stop].Add(1)
	unprocessed := r.timer.Stop()
	for _, timeout := range unprocessed {
		entryOf(timeout).end()
	}
	r.unprocessed.Add(int64(len(unprocessed))) // last: check waits for it
}

// after returns the moment delay from now, in nanoseconds since the round began;
// the last one if that is past the clock's range.
func (r *round) after(delay time.Duration) int64 {
	now := int64(time.Since(r.began))
	return now + min(int64(delay), math.MaxInt64-now)
}
