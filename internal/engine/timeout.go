package engine

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/mpsc"
)

// Ground rules
//
// The state of a timeout is one atomic word, so that deadline and end cannot disagree: Cancel,
// Reset and expiry are each one compare-and-swap on the word. The compare-and-swap is the
// linearization point. [enginekit.Word] has the layout of the word. The flag is queued.
//
//	L1. Nothing but an Arm of an event makes an ended word pending (event.go). A timeout
//	    ends exactly once, and so does each life of an event. The goroutine that made that
//	    change accounts for it.
//	L2. queued means: the timeout is in a queue to the worker, or the goroutine
//	    that set the bit will push it. A caller that changes the word of a
//	    queued timeout need not push it, since the worker will look at the word
//	    after taking it from the queue. After its push, the pusher rereads the word
//	    and makes sure that the timeout is drained by the deadline that it finds:
//	    other callers may have changed the word and relied on this push. If the
//	    push fails, because the timer is being stopped, the pusher acts for the
//	    worker: see unqueue.
//	L3. Only the holder of mu clears queued, after taking the timeout from its queue, or
//	    failing to push it, and before acting on the word. A timeout is in at most one
//	    queue, once, and no change goes unseen. A timeout that ended in a queue and is
//	    dropped keeps the bit.
//	L4. A Reset to later changes the deadline alone, and pushes nothing: the
//	    worker compares before it expires a timeout.
//
// Every loop below ends. Its compare-and-swap fails only if another succeeded. By L1 the other
// has ended the timeout; or, by L3, the other was the worker's, once for each push; or the
// other was a Reset or an Arm, and another caller has made progress.

// Timeout is the one allocation that a pending timeout costs the caller: 48 bytes on 64-bit
// machines, a size class of the allocator, filled to the last. An hwt.Event has the same
// layout, so a Timeout may also be the inside of an event.
type Timeout struct {
	state state              // Atomic: written by callers and the worker, by the rules above. First, for its alignment on 32-bit machines.
	node  store.Node         // the place in the wheel, or one of the spots below, and the marks of walks. Guarded by Core.mu.
	link  mpsc.Link[Timeout] // Belongs to the queue that holds the timeout.
	task  hwt.TimerTask      // Immutable after NewTimeout.
	home  *home              // Immutable after NewTimeout. Keeps the timer alive while the timeout is pending.
}

var _ hwt.CallerTimeout = (*Timeout)(nil)

// The spots of timeouts outside the wheel.
const (
	elsewhere   store.Spot = iota
	inDue                  // in firing.due
	endedByStop            // in the result of Stop
)

// newTimeout makes a timeout that has no worker yet. caller is from the function of
// that name.
func (e *env) newTimeout(deadline int64, task hwt.TimerTask, caller uintptr) *Timeout {
	if e.callers {
		return &(&enginekit.Recorded[Timeout]{Timeout: Timeout{state: newState(deadline), task: task}, Caller: caller}).Timeout
	}
	return &Timeout{state: newState(deadline), task: task}
}

// assign gives a new timeout to a worker.
func (t *Timeout) assign(home *home) { t.home = home }

// initEvent makes t the inside of an event that was never armed.
func (t *Timeout) initEvent(task hwt.TimerTask, home *home) {
	t.state, t.task, t.home = state{int64(enginekit.Unarmed)}, task, home
}

// timeoutOf returns the timeout that n is a part of.
func timeoutOf(n *store.Node) *Timeout {
	return (*Timeout)(unsafe.Add(unsafe.Pointer(n), -int(unsafe.Offsetof(Timeout{}.node))))
}

// isEvent reports whether t is the inside of an hwt.Event.
func (t *Timeout) isEvent() bool { return t.node.Stamp != 0 }

// handle returns the handle that users know.
func (t *Timeout) handle() hwt.Timeout {
	if t.isEvent() {
		return (*hwt.Event)(unsafe.Pointer(t))
	}
	return t
}

// wantsNotice reports whether the task of t is notified when Cancel ends t (E6).
func (t *Timeout) wantsNotice() bool { return !t.isEvent() && enginekit.WantsCancelled(t.task) }

// Timer implements hwt.Timeout.
func (t *Timeout) Timer() hwt.Timer { return t.home.outer }

// Task implements hwt.Timeout.
func (t *Timeout) Task() hwt.TimerTask { return t.task }

// Deadline implements hwt.Timeout.
func (t *Timeout) Deadline() time.Time {
	deadline := t.state.load().Deadline()
	if deadline == forever {
		return time.Time{}
	}
	return t.home.env.clock.Time(deadline)
}

// IsExpired implements hwt.Timeout.
func (t *Timeout) IsExpired() bool { return t.state.load().IsExpired() }

// IsCancelled implements hwt.Timeout.
func (t *Timeout) IsCancelled() bool { return t.state.load().IsCancelled() }

// String describes the timeout by the deadline, relative to now, by the end if there was
// one, and by the task: "timeout(in 4.99s, task *shop.check)".
func (t *Timeout) String() string { return t.state.load().Describe(t.home.env.clock.Now(), t.task) }

// Caller implements hwt.CallerTimeout.
func (t *Timeout) Caller() (runtime.Frame, bool) {
	return enginekit.FrameOf(t.home.env.callers, t)
}

// queued is the flag of a word (L2).
const queued enginekit.Word = 1

// state is an atomic [enginekit.Word]; see the ground rules above. The word is a plain
// integer, so that a new timeout is initialized without an atomic store.
type state struct{ word int64 }

func newState(deadline int64) state {
	return state{int64(enginekit.PendingWord(deadline) | queued)}
}

func (s *state) load() enginekit.Word { return enginekit.Word(atomic.LoadInt64(&s.word)) }

func (s *state) compareAndSwap(was, now enginekit.Word) bool {
	return atomic.CompareAndSwapInt64(&s.word, int64(was), int64(now))
}

// cancel ends the timeout. cancel returns the pending word that it has ended, and false if
// the timeout had ended before.
func (s *state) cancel() (was enginekit.Word, ok bool) {
	for {
		w := s.load()
		if w.HasEnded() {
			return w, false
		}
		if s.compareAndSwap(w, w.Cancelled()) { // Linearization point of Cancel.
			return w, true
		}
	}
}

// expire ends the timeout if the deadline is not after now. expire returns the word that
// stands, and whether this call ended it.
func (s *state) expire(now int64) (w enginekit.Word, ok bool) {
	for {
		w = s.load()
		if w.HasEnded() || w.Deadline() > now {
			return w, false
		}
		if s.compareAndSwap(w, w.Expired()) { // Linearization point of expiry.
			return w, true
		}
	}
}

// rearm moves the deadline. rearm returns the word before, and false if the timeout has
// ended. If the timeout is not queued and the deadline is now earlier, rearm sets queued:
// the caller must push the timeout to the worker.
func (s *state) rearm(deadline int64) (was enginekit.Word, ok bool) {
	for {
		w := s.load()
		if w.HasEnded() {
			return w, false
		}
		next := enginekit.PendingWord(deadline) | w&queued
		if deadline < w.Deadline() {
			next |= queued
		}
		if s.compareAndSwap(w, next) { // Linearization point of Reset.
			return w, true
		}
	}
}

// dequeue clears queued (L3) and returns the word that stands.
func (s *state) dequeue() enginekit.Word {
	for {
		w := s.load()
		if w&queued == 0 || s.compareAndSwap(w, w&^queued) {
			return w &^ queued
		}
	}
}

// drainBy returns the time by which a timeout in a queue must be drained.
func (s *state) drainBy() int64 {
	if w := s.load(); !w.HasEnded() {
		return w.Deadline()
	}
	return noDeadline
}

// Cancel implements hwt.Timeout.
func (t *Timeout) Cancel() bool {
	was, ok := t.state.cancel()
	if ok {
		t.home.pushCancelled(t, was)
	}
	return ok
}

// Reset implements hwt.Timeout.
func (t *Timeout) Reset(delay time.Duration) bool {
	deadline := t.home.env.clock.Deadline(delay)
	was, ok := t.state.rearm(deadline)
	if !ok {
		return false
	}
	t.home.countReset(t, deadline)
	if deadline < was.Deadline() {
		t.home.pushAdvanced(t, was, deadline)
	}
	return true
}
