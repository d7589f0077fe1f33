package idle

import (
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// never is a deadline that does not come.
const never = math.MaxInt64

// Watch is one thing that its reaper closes when it is idle. All methods are safe
// for concurrent use. It takes 64 bytes on 64-bit machines.
type Watch struct {
	state   state        // Atomic: written by all, by the rules of state.go.
	timeout atomic.Int64 // Atomic: written under shard.mu, read by all.
	born    int64        // Immutable after init.
	shard   *shard       // Immutable after init.
	group   *group       // nil if it is in none. Guarded by shard.mu.
	slot    uint8        // in the group. Guarded by shard.mu.
	pieces  bool         // whether a wrapped connection's writes go in pieces. Immutable after init.
	holds   atomic.Int32 // Atomic: written by Hold and its releases, read by scans and writes.
	closer  io.Closer    // Immutable after init.
}

// WatchOf returns the watch of a connection that [Reaper.Wrap] or the Accept of a
// [Reaper.Listener] returned, or of one on top of it that has a method NetConn,
// like *tls.Conn. It returns nil if there is none.
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

// Touch is activity: the whole idle timeout begins again. It does nothing once
// the watch has ended.
//
// It reads the clock and does one compare-and-swap. It takes no lock, makes no
// allocation and does not block.
func (w *Watch) Touch() { w.state.touch(w.shard.now()) }

// Hold keeps the watch from being idle until release is called. It is for work
// that moves no bytes, such as a handler that computes its answer. Holds are
// counted, so concurrent work on one connection needs no coordination. Hold and
// release are activity, so the whole idle timeout follows the last release. The
// second call of a release does nothing, nor does a Hold of a watch that has
// ended.
//
// A hold does not excuse a peer that does not read. If writes are activity, a
// stream is idle in spite of holds when a write to it makes no progress for the
// idle timeout. Nor does a hold extend [Options.MaxAge].
//
// Hold and release cost little more than a touch each. Hold makes two small
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

// Release ends the watch. The reaper does not close what it watches, and does not
// refer to it any more when Release returns. Release does nothing once the watch
// has ended, so a close by the reaper that has begun goes on.
//
// It takes constant time and a lock that is held briefly.
func (w *Watch) Release() {
	if w.state.endAny(endReleased) {
		w.shard.remove(w)
	}
}

// SetTimeout changes the idle timeout. The latest activity stays what it is, so
// without a touch, what has been silent for longer is closed at the next tick. A
// timeout of 0 or less means that of the reaper. SetTimeout does nothing once the
// watch has ended.
//
// It costs as much as Release, and a Reset of a timeout if the deadline becomes
// the earliest among those that share it.
func (w *Watch) SetTimeout(timeout time.Duration) { w.shard.setTimeout(w, timeout) }

// Timeout returns the idle timeout.
func (w *Watch) Timeout() time.Duration { return time.Duration(w.timeout.Load()) }

// Idle returns the time since the latest activity.
func (w *Watch) Idle() time.Duration { return time.Duration(w.shard.now() - w.state.last()) }

// Err returns [ErrIdle], [ErrTooOld] or [ErrCloseAll] if the reaper has closed what
// it watches or is about to. Otherwise it returns nil, including after Release.
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
		return ErrCloseAll
	}
	return nil
}

// init makes w watch c from now on.
func (w *Watch) init(s *shard, c io.Closer, timeout time.Duration) {
	now := s.now()
	w.shard, w.closer, w.born = s, c, now
	w.state.word.Store(now)
	w.timeout.Store(int64(timeout))
}

// deadline returns when w is to be closed if it is not held, and why. last is its
// latest activity.
func (w *Watch) deadline(last int64) (at int64, reason endReason) {
	idle, tooOld := later(last, w.timeout.Load()), later(w.born, int64(w.shard.reaper.options.MaxAge))
	if tooOld < idle {
		return tooOld, endTooOld
	}
	return idle, endIdle
}

// held reports whether w has holds and no write waits for its peer.
func (w *Watch) held() bool {
	return w.holds.Load() > 0 && !(w.pieces && w.closer.(wrapper).base().isWriting())
}

// later returns t + d, or never if that is out of range.
func later(t, d int64) int64 {
	if d > never-t {
		return never
	}
	return t + d
}
