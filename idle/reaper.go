package idle

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/isnil"
)

// maxShards bounds the shards of a reaper.
const maxShards = 64

// Reaper closes what went quiet. Make one with NewReaper; all methods are safe
// for concurrent use.
type Reaper struct {
	config                // Immutable after NewReaper.
	timer   hwt.Timer     // Immutable after NewReaper.
	timeout time.Duration // Immutable after NewReaper.
	shards  []shard       // Immutable after NewReaper; a power of two of them.
	closers closers
	panics  atomic.Int64 // Atomic: written by closers, read by Stats.
	warned  sync.Once    // the default error handler has told of the timer's refusal
}

// Event is what the callback of WithOnIdle is told.
type Event struct {
	What    io.Closer     // what will be closed: the connection as Wrap returned it, or what Watch was given
	Reason  error         // ErrIdle or ErrTooOld
	Idle    time.Duration // since the latest activity
	Age     time.Duration // since Wrap, Accept or Watch
	Timeout time.Duration // the idle timeout; Idle - Timeout is how late the reaper is
}

// Stats is a snapshot of what a reaper has done since it was made. When nothing
// is in flight,
//
//	Accepted = Watched + Idle + TooOld + Released + Dismissed
type Stats struct {
	Accepted  int64 // watches and connections given to the reaper
	Watched   int64 // those not ended
	Idle      int64 // ended for being idle
	TooOld    int64 // ended at their maximal age
	Released  int64 // ended by Release, or by closing the connection
	Dismissed int64 // let go since the timer was stopped or the reaper closed

	Closing int64 // ended by the reaper and not closed yet
	Panics  int64 // callbacks and Close methods that panicked or ended their goroutine
	Spares  int64 // times that one of Go's own timers stood in, the timer being at its limit
}

// counts is a shard's share of Stats.
type counts struct {
	accepted, idle, tooOld, released, dismissed, spares int64
}

func (c *counts) count(h how) {
	if h == aged {
		c.tooOld++
		return
	}
	c.idle++
}

// NewReaper returns a reaper that closes what had no activity for the timeout,
// by a timeout of timer: no earlier, and no later than one tick of timer more.
// The timer may serve others too; the reaper never stops it.
//
// It returns an error if timer is nil, if timeout is not positive, or if an
// option is out of its range.
func NewReaper(timer hwt.Timer, timeout time.Duration, options ...Option) (*Reaper, error) {
	if isnil.Of(timer) {
		return nil, errors.New("idle: NewReaper: timer is nil (expected: a timer)")
	}
	if timeout <= 0 {
		return nil, fmt.Errorf("idle: NewReaper: timeout %v (expected: > 0)", timeout)
	}
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	r := &Reaper{config: c, timer: timer, timeout: timeout}
	r.closers.reaper = r
	r.shards = make([]shard, min(1<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), maxShards))
	start := time.Now()
	for i := range r.shards {
		r.shards[i].reaper, r.shards[i].start = r, start
	}
	return r, nil
}

// Wrap returns c, watched: the reaper closes it when it goes quiet. A read that
// is in progress then, and whatever comes after it, returns an error that is
// ErrIdle by errors.Is. Closing the connection ends the watch at once.
//
// The connection returned can do what c can, of SyscallConn, CloseRead,
// CloseWrite, ReadFrom and WriteTo, and its method NetConn returns c. See the
// package's documentation for what counts as activity.
//
// Wrap never fails. If the timer is at its limit, one of Go's own timers stands
// in for it. If the timer or the reaper is stopped, the connection works and is
// not watched, and the error handler is told; if the reaper was closed with
// WithCloseAll, the connection is closed.
//
// It makes one allocation and takes a lock for a few nanoseconds.
func (r *Reaper) Wrap(c net.Conn) net.Conn {
	wrapped := newConn(c)
	own := wrapped.base()
	own.watch.pieces = r.activity&Writes != 0 && isStream(c)
	r.begin(&own.watch, wrapped, c)
	return wrapped
}

// Watch begins to watch what, which is active whenever Touch is called on the
// result. It never fails, in the sense of Wrap.
//
// It makes one allocation of 64 bytes and takes a lock for a few nanoseconds.
func (r *Reaper) Watch(what io.Closer) *Watch {
	w := &Watch{}
	r.begin(w, what, what)
	return w
}

// begin makes w a watch over what. given is what the user gave.
func (r *Reaper) begin(w *Watch, what, given io.Closer) {
	timeout := r.timeout
	if r.timeoutOf != nil {
		if own := r.timeoutOf(given); own > 0 {
			timeout = own
		}
	}
	s := &r.shards[rand.Uint32()&uint32(len(r.shards)-1)]
	w.init(s, what, timeout)
	s.add(w)
}

// Close stops watching: nothing is closed any more for being idle. With
// WithCloseAll everything that is watched is closed, now; Close does not wait
// for that. Closing the reaper does not stop its timer. Close always returns
// nil, and does nothing the second time.
//
// It takes time proportional to what is watched.
func (r *Reaper) Close() error {
	for i := range r.shards {
		r.shards[i].close()
	}
	return nil
}

// farewell is how watches end when the reaper is closed.
func (r *Reaper) farewell() how {
	if r.closeAll {
		return shut
	}
	return released
}

// Stats returns a snapshot of the reaper's counts. When nothing is watched in it
// and nothing closing, everything is closed. Reading them costs a touch nothing.
func (r *Reaper) Stats() Stats {
	s := Stats{}
	for i := range r.shards {
		r.shards[i].addTo(&s)
	}
	s.Watched = s.Accepted - s.Idle - s.TooOld - s.Released - s.Dismissed
	s.Closing = r.closers.waiting() // after the shards: what they count as ended is in the closers' hands
	s.Panics = r.panics.Load()
	return s
}

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Accepted += s.counts.accepted
	stats.Idle += s.counts.idle
	stats.TooOld += s.counts.tooOld
	stats.Released += s.counts.released
	stats.Dismissed += s.counts.dismissed
	stats.Spares += s.counts.spares
}

// refused tells that the timer did not take a timeout, if it did not.
func (r *Reaper) refused(err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("idle: the timer refused a timeout: %w", err)
	if r.onError != nil {
		r.report(err)
		return
	}
	r.warned.Do(func() { r.logger.Warn(err.Error()) })
}

// report hands err to the error handler. What the default logs is what the
// users' code did wrong, not that a close failed.
func (r *Reaper) report(err error) {
	defer func() { _ = recover() }() // there is nobody left to tell
	if r.onError != nil {
		r.onError(err)
		return
	}
	if broken, ok := errors.AsType[*hwt.PanicError](err); ok {
		r.logger.Error(err.Error(), "stack", string(broken.Stack))
	} else if errors.Is(err, errGoexit) {
		r.logger.Error(err.Error())
	}
}
