package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// wrong counts the answers of calls that broke their contract.
type wrong struct {
	batches    atomic.Int64 // of NewTimeouts, that are not one timeout for each task in order
	missed     atomic.Int64 // pending timeouts that All did not yield
	repeated   atomic.Int64 // timeouts that All yielded again
	deadlines  atomic.Int64 // of timeouts, that are not those asked for
	unfinished atomic.Int64 // calls of Shutdown without an error that left something
	contexts   atomic.Int64 // of tasks, that ended too soon or not at all
}

// text describes the faults, or returns "".
func (w *wrong) text() string {
	counts := []any{w.batches.Load(), w.missed.Load(), w.repeated.Load(), w.deadlines.Load(), w.unfinished.Load(), w.contexts.Load()}
	for _, n := range counts {
		if n != int64(0) {
			return fmt.Sprintf("%d wrong batches, All missed %d and repeated %d, %d wrong deadlines, "+
				"%d shutdowns that left something, %d wrong contexts", counts...)
		}
	}
	return ""
}

// maxBatch is the largest number of timeouts of a batch.
const maxBatch = 16

// scheduleBatch schedules n entries in one call, and returns them, or nil if the timer is
// stopped.
func (r *round) scheduleBatch(random *rand.Rand, n int, delay time.Duration) []*entry {
	batch, tasks := make([]*entry, n), make([]hwt.TimerTask, n)
	for i := range batch {
		batch[i], tasks[i] = r.newEntry(random.IntN(1000), delay)
	}
	timeouts, err := r.timer.NewTimeouts(tasks, delay)
	if err != nil {
		return nil
	}
	by := r.after(delay)
	for i, timeout := range timeouts {
		if timeout.Task() != tasks[i] {
			r.wrong.batches.Add(1)
		}
		batch[i].timeout, batch[i].dueBy = timeout, by
	}
	if len(timeouts) != n {
		r.wrong.batches.Add(1)
	}
	r.accept(batch[:len(timeouts)]...)
	return batch
}

// checkAll iterates over the pending timeouts. All must yield every entry of mine, and no
// timeout twice.
func (r *round) checkAll(mine []*entry) {
	seen := make(map[hwt.Timeout]struct{})
	for timeout := range r.timer.All() {
		if _, again := seen[timeout]; again {
			r.wrong.repeated.Add(1)
		}
		seen[timeout] = struct{}{}
	}
	missed := int64(0)
	for _, e := range mine {
		if e == nil {
			continue
		}
		if _, found := seen[e.timeout]; !found && e.pending() {
			missed++
		}
	}
	if !r.stopping.Load() { // else Stop may have ended them
		r.wrong.missed.Add(missed)
	}
}

// maxExact bounds the deadlines that are checked: those of later ones are by the wall
// clock, since the monotonic time of a time.Time has a range.
const maxExact = 1 << 60

// checkDeadline checks that of the caller's latest NewTimeout or Reset.
func (e *entry) checkDeadline() {
	if e.dueBy > maxExact {
		return
	}
	at := int64(e.timeout.Deadline().Sub(e.round.began))
	if at < e.due() || at > e.dueBy {
		e.round.wrong.deadlines.Add(1)
	}
}

// shutdownWaits are the limits of Shutdown: some are exceeded, others are not.
var shutdownWaits = []time.Duration{0, time.Millisecond, time.Second}

// shutdown stops the timer, and waits at most for limit until its tasks have ended.
func (r *round) shutdown(limit time.Duration) (unprocessed []hwt.Timeout, finished bool) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	unprocessed, err := r.timer.Shutdown(ctx)
	if err != nil {
		r.gaveUp.Store(true)
	}
	return unprocessed, err == nil
}

// checkFinished is called after a Shutdown without error, when no callers are left: no
// task may run or wait.
func (r *round) checkFinished() {
	if r.busy.Load() != 0 || !r.allCalled(r.timer.Stats()) {
		r.wrong.unfinished.Add(1)
	}
}

// contextWait bounds a task's wait for the end of its context.
const contextWait = 10 * time.Millisecond

// waitForContext is a task that waits until its context ends, or for a while.
func (r *round) waitForContext(ctx context.Context, _ hwt.Timeout) error {
	if r.gaveUp.Load() && ctx.Err() == nil {
		r.wrong.contexts.Add(1)
	}
	select {
	case <-ctx.Done():
		if context.Cause(ctx) != hwt.ErrStopped || !r.stopping.Load() {
			r.wrong.contexts.Add(1)
		}
	case <-time.After(contextWait):
	}
	return nil
}
