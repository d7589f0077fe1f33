package idle

import (
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// never is the deadline of a watch that does not expire.
const never = math.MaxInt64

// Watch is the idle timeout of a connection or other closer. All methods are safe
// for concurrent use. A Watch takes 64 bytes on 64-bit machines.
type Watch struct {
	state   state        // Atomic: written by all, by the rules of state.go.
	timeout atomic.Int64 // Atomic: written under shard.mu, read by all.
	born    int64        // Immutable after init.
	shard   *shard       // Immutable after init.
	group   *group       // group that contains the watch, or nil. Guarded by shard.mu.
	slot    uint8        // position in the group. Guarded by shard.mu.
	pieces  bool         // writes of the wrapped connection are split into pieces. Immutable after init.
	holds   atomic.Int32 // Atomic: written by Hold and its releases, read by scans and writes.
	closer  io.Closer    // Immutable after init.
}

// WatchOf returns the watch of a connection that [Reaper.Wrap] or the Accept of a
// [Reaper.Listener] returned. It also accepts a connection on top of it that has a
// method NetConn, such as a *tls.Conn. It returns nil for other connections.
func WatchOf(c net.Conn) *Watch {
	for c != nil {
		if own, ok := c.(wrapper); ok {
			return &own.base().watch
		}
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = over.NetConn()
	}
	return nil
}

// Touch is activity: Touch restarts the idle timeout. Touch does nothing after the end of
// the watch.
//
// Touch reads the clock and makes one compare-and-swap. It takes no lock, does not
// allocate, and does not block.
func (w *Watch) Touch() { w.state.touch(w.shard.now()) }

// Hold keeps the watch from being idle until release is called. Use Hold for work that
// moves no bytes, such as a handler that computes a response. Holds are counted, so
// concurrent work on one connection needs no coordination. Hold and release are activity: a
// whole idle timeout follows the last release. Calling release again does nothing. Hold
// does nothing after the end of the watch.
//
// A hold does not protect a peer that has stopped reading: if a write makes no progress for
// the idle timeout, and writes are activity, the connection is closed despite its holds. A
// hold extends [Options.MaxAge] only by MaxAgeGrace.
//
// Hold and release each cost little more than a touch. Hold makes two small
// allocations.
func (w *Watch) Hold() (release func()) {
	w.holds.Add(1)
	w.Touch()
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			w.Touch()
			w.holds.Add(-1)
		}
	}
}

// Stop ends the watch without closing. When it returns, the reaper no longer refers to
// the watch or the closer. Stop does nothing after the end of the watch: if Err is then
// not nil, the reaper closes, or has closed.
//
// Stop takes constant time and a briefly held lock.
func (w *Watch) Stop() {
	if w.state.endAny(endStopped) {
		w.shard.remove(w)
	}
}

// SetTimeout changes the idle timeout but not the time of the last activity. If the new
// timeout has already passed since then, the reaper closes immediately or, under load, at
// the next tick. A timeout of 0 or less means the reaper's timeout. SetTimeout does nothing
// after the end of the watch.
//
// SetTimeout costs as much as Stop. A new deadline that is the earliest of the group also
// resets the timeout.
func (w *Watch) SetTimeout(timeout time.Duration) { w.shard.setTimeout(w, timeout) }

// Timeout returns the idle timeout.
func (w *Watch) Timeout() time.Duration { return time.Duration(w.timeout.Load()) }

// Idle returns the time since the last activity.
func (w *Watch) Idle() time.Duration {
	last := w.state.last() // before the clock, or a touch in between would make the difference negative
	return time.Duration(w.shard.now() - last)
}

// Err returns [ErrIdle], [ErrTooOld], or [ErrClosed] if the reaper has ended the
// watch; the close may not have completed. Otherwise, and after Stop, it returns
// nil.
func (w *Watch) Err() error {
	reason, ended := w.state.ended()
	if !ended {
		return nil
	}
	switch reason {
	case endIdle:
		return ErrIdle
	case endTooOld:
		return ErrTooOld
	case endClosed:
		return ErrClosed
	}
	return nil
}

// init makes w watch c.
func (w *Watch) init(s *shard, c io.Closer, timeout time.Duration) {
	now := s.now()
	w.shard, w.closer, w.born = s, c, now
	w.state.word.Store(max(now, 0)) // now is negative in a synctest bubble if New was called outside
	w.timeout.Store(int64(timeout))
}

// deadline returns the time and the reason of the end of w if w is not held. last is the
// last activity.
func (w *Watch) deadline(last int64) (at int64, reason endReason) {
	o := &w.shard.reaper.options
	idle, tooOld := later(last, w.timeout.Load()), later(w.born, int64(o.MaxAge))
	if o.MaxAgeGrace > 0 {
		tooOld = min(max(tooOld, later(last, int64(graceQuiet))), later(tooOld, int64(o.MaxAgeGrace)))
	}
	if tooOld < idle {
		return tooOld, endTooOld
	}
	return idle, endIdle
}

// graceQuiet is the time without activity after which a connection is not in use any more
// in its MaxAgeGrace. A connection in use is examined as often.
const graceQuiet = 100 * time.Millisecond

// held reports whether w has holds and no write in progress.
func (w *Watch) held() bool {
	return w.holds.Load() > 0 && !(w.pieces && w.closer.(wrapper).base().isWriting())
}

// later returns t + d, or never if the sum overflows.
func later(t, d int64) int64 {
	if d > never-t {
		return never
	}
	return t + d
}
