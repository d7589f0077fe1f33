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

// Watch is one thing that its reaper closes when it goes quiet. All methods are
// safe for concurrent use. It is 64 bytes on 64-bit machines.
type Watch struct {
	life    life         // Atomic: written by all, by the rules of life.go. First, so that it is aligned on 32-bit machines.
	timeout atomic.Int64 // Atomic: written under shard.mu, read by all.
	born    int64        // Immutable after it was made.
	shard   *shard       // Immutable after it was made.
	cohort  *cohort      // that it is a member of, nil if none. Guarded by shard.mu.
	slot    uint8        // where in the cohort. Guarded by shard.mu.
	pieces  bool         // whether a wrapped connection's writes go in pieces. Immutable after it was made.
	what    io.Closer    // Immutable after it was made.
}

// Touch notes activity: from now on the watch has its whole idle timeout again.
// It does nothing once the watch ended.
//
// It reads the clock and does one compare-and-swap. It takes no lock, makes no
// allocation and does not block.
func (w *Watch) Touch() { w.life.touch(w.shard.now()) }

// Release ends the watch: what it watches will not be closed by the reaper, and
// the reaper does not refer to it any more when Release returns. It does nothing
// once the watch ended; so if the reaper was faster, the close goes on.
//
// It takes a lock for a few nanoseconds, and constant time.
func (w *Watch) Release() {
	if w.life.endAny(released) {
		w.shard.remove(w)
	}
}

// SetTimeout changes the idle timeout from now on; the latest activity stays
// what it is, so that a watch that has been quiet for longer is closed at the
// next tick, unless it is touched first. A timeout of zero or less means the reaper's own. It does nothing
// once the watch ended.
//
// It costs as much as Release, and a timer operation if the deadline comes
// nearer.
func (w *Watch) SetTimeout(timeout time.Duration) { w.shard.setTimeout(w, timeout) }

// Timeout returns the idle timeout.
func (w *Watch) Timeout() time.Duration { return time.Duration(w.timeout.Load()) }

// Idle returns how long ago the latest activity was.
func (w *Watch) Idle() time.Duration { return time.Duration(w.shard.now() - w.life.last()) }

// Err returns ErrIdle, ErrTooOld or ErrClosed if the reaper closed what this
// watches or is about to, and nil otherwise: also after Release.
func (w *Watch) Err() error {
	h, ended := w.life.ended()
	switch {
	case !ended:
		return nil
	case h == idled:
		return ErrIdle
	case h == aged:
		return ErrTooOld
	case h == shut:
		return ErrClosed
	}
	return nil
}

// init makes w a watch over what, beginning now.
func (w *Watch) init(s *shard, what io.Closer, timeout time.Duration) {
	now := s.now()
	w.shard, w.what, w.born = s, what, now
	w.life.word.Store(now)
	w.timeout.Store(int64(timeout))
}

// deadline returns when w is to be closed, its latest activity being last, and
// for which reason.
func (w *Watch) deadline(last int64) (at int64, h how) {
	idle, age := later(last, w.timeout.Load()), later(w.born, int64(w.shard.reaper.maxAge))
	if age < idle {
		return age, aged
	}
	return idle, idled
}

// later returns t + d, and never if that is out of range.
func later(t, d int64) int64 {
	if d > never-t {
		return never
	}
	return t + d
}

// WatchOf returns the watch of a connection that Wrap or a Listener's Accept
// returned, and of one that is layered over such a connection and shows it by a
// method NetConn, like *tls.Conn. It returns nil if there is none.
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
