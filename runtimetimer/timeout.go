package runtimetimer

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
)

var _ hwt.Timeout = (*timeout)(nil)

// timeout is the handle that users hold: 48 bytes, and all that is allocated
// for one more timeout when an arm can be used again.
type timeout struct {
	shard *shard        // Immutable.
	task  hwt.TimerTask // Immutable.
	arm   *arm          // Guarded by shard.mu. Nil once ended.
	state word          // Atomic: written under shard.mu, read by anyone.
}

// Timer returns the *Timer that made the timeout.
func (n *timeout) Timer() hwt.Timer { return n.shard.timer }

// Task returns the task given to NewTimeout.
func (n *timeout) Task() hwt.TimerTask { return n.task }

// IsExpired reports whether the timeout came due.
func (n *timeout) IsExpired() bool { return n.state.Load().is(expired) }

// IsCancelled reports whether Cancel or Stop ended the timeout.
func (n *timeout) IsCancelled() bool { return n.state.Load().is(cancelled) }

// Cancel ends a pending timeout. It costs two short locks, the shard's and the
// runtime timer's, and no allocation.
func (n *timeout) Cancel() bool {
	if !n.state.Load().is(pending) || !n.shard.cancel(n) {
		return false
	}
	if task.WantsCancelled(n.task) {
		// Not here: the caller may hold what the callback wants, and the
		// executor may block.
		go n.shard.timer.runner.Cancelled(n, n.task)
	}
	return true
}

// Reset gives a pending timeout another deadline. It costs O(log n) in the
// timeouts pending, and no allocation.
func (n *timeout) Reset(delay time.Duration) bool {
	return n.state.Load().is(pending) && n.shard.reset(n, delay)
}

// String tells the deadline relative to now, the end if there was one, and the
// task: "timeout(in 4.99s, cancelled, task main.order)".
func (n *timeout) String() string {
	m := n.state.Load()
	return fmt.Sprintf("timeout(%s%s, task %T)", m.due(time.Since(n.shard.timer.start)), m.end(), n.task)
}

// state is the one thing in the life of a timeout that changes.
type state int64

const (
	pending state = iota
	expired
	cancelled

	stateBits = 2
	stateMask = 1<<stateBits - 1
)

// never is the latest deadline; it does not come.
const never time.Duration = math.MaxInt64 &^ stateMask

// moment is a deadline and a state in one word, so that both are read at once.
// The state takes the lowest bits, which rounds deadlines down to 4 ns; they
// are only for String.
type moment int64

// word is a moment that changes.
type word struct{ v atomic.Int64 }

func (w *word) Load() moment   { return moment(w.v.Load()) }
func (w *word) Store(m moment) { w.v.Store(int64(m)) }

func pendingUntil(deadline time.Duration) moment {
	return moment(int64(deadline)&^stateMask | int64(pending))
}

func (m moment) is(s state) bool         { return state(m&stateMask) == s }
func (m moment) ended(s state) moment    { return m&^stateMask | moment(s) }
func (m moment) deadline() time.Duration { return time.Duration(m &^ stateMask) }

// due says how far the deadline is from now.
func (m moment) due(now time.Duration) string {
	switch left := m.deadline() - now; {
	case m.deadline() == never:
		return "never"
	case left > 0:
		return "in " + left.String()
	case left < 0:
		return (-left).String() + " ago"
	default:
		return "now"
	}
}

// end says how it ended, if it did.
func (m moment) end() string {
	switch {
	case m.is(expired):
		return ", expired"
	case m.is(cancelled):
		return ", cancelled"
	default:
		return ""
	}
}
