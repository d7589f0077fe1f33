package soak

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// entry is one timeout, its task, and what became of it.
type entry struct {
	round   *round
	kind    int          // what the task does. Immutable.
	timeout hwt.Timeout  // Written by its caller once, and used by it alone.
	floor   atomic.Int64 // Nanoseconds since the round began; the task must not run before. Written by its caller.
	ends    atomic.Int32 // must become 1
}

// teller is an entry whose task wants to be told of its cancellation.
type teller struct{ *entry }

// Cancelled implements hwt.CancelledTask.
func (t teller) Cancelled(hwt.Timeout) {
	t.round.told.Add(1)
	if t.kind%100 == 0 {
		t.round.faults.Add(1)
		panic("a cancelled task")
	}
}

// entryOf returns what belongs to a timeout.
func entryOf(timeout hwt.Timeout) *entry {
	if t, ok := timeout.Task().(teller); ok {
		return t.entry
	}
	return timeout.Task().(*entry)
}

// end books an end; there must be one.
func (e *entry) end() {
	if e.ends.Add(1) > 1 {
		e.round.twice.Add(1)
	}
}

var errTask = errors.New("a task failed")

// Run implements hwt.TimerTask.
func (e *entry) Run(timeout hwt.Timeout) error {
	r := e.round
	r.busy.Add(1)
	defer r.busy.Add(-1)
	late := int64(time.Since(r.began)) - e.floor.Load()
	if late < 0 {
		r.early.Add(1)
	}
	raise(&r.latest, late)
	r.ran.Add(1)
	e.end()
	if timeout.Cancel() || timeout.Reset(0) || !timeout.IsExpired() {
		r.twice.Add(1)
	}
	return e.misbehave()
}

// misbehave does what tasks should not, in some one of three tasks.
func (e *entry) misbehave() error {
	r := e.round
	switch kind := e.kind; {
	case kind < 50:
		return errTask
	case kind < 100:
		panic(errTask)
	case kind < 150:
		runtime.Goexit()
	case kind < 250:
		random := rand.New(rand.NewPCG(r.seed, uint64(kind)))
		if again := r.schedule(random); again != nil && kind < 175 {
			again.cancel()
		}
	case kind < 300:
		r.timer.Stats()
		r.timer.Pending()
	case kind < 302:
		time.Sleep(2 * time.Millisecond)
	case kind == 302 && time.Since(r.began) > 50*time.Millisecond:
		r.faults.Add(1)
		r.over()
		r.stop()
	}
	return nil
}

// meddle does something to a timeout of the caller's.
func (e *entry) meddle(random *rand.Rand) {
	switch random.IntN(4) {
	case 0:
		e.cancel()
	case 1, 2:
		e.reset(someDelay(random))
	default:
		e.round.calls[ask].Add(1)
		e.round.timer.Pending()
	}
}

func (e *entry) cancel() {
	e.round.calls[cancel].Add(1)
	if !e.timeout.Cancel() {
		return
	}
	e.end()
	if e.kind%2 == 0 {
		e.round.toTell.Add(1)
	}
}

// reset keeps floor true: while the outcome is open, the earlier moment counts.
func (e *entry) reset(delay time.Duration) {
	e.round.calls[reset].Add(1)
	before, after := e.floor.Load(), e.round.after(delay)
	e.floor.Store(min(before, after))
	if e.timeout.Reset(delay) {
		e.floor.Store(after)
	}
}
