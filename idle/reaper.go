package idle

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// maxShards bounds the shards of a reaper.
const maxShards = 64

// Reaper closes what has been idle for too long. Make one with [NewReaper]. All
// methods are safe for concurrent use.
type Reaper struct {
	options   Options       // Immutable after NewReaper.
	timer     hwt.Timer     // Immutable after NewReaper.
	timeout   time.Duration // Immutable after NewReaper.
	shards    []shard       // Immutable after NewReaper; a power of two of them.
	closePool closePool
	panics    atomic.Int64 // Atomic: written by the close pool, read by Stats.
	warned    sync.Once    // the first warning has been logged
}

// NewReaper returns a reaper that closes what had no activity for timeout: no
// earlier, and no later than one tick of timer after that. The timer may serve
// others too; the reaper does not stop it. nil options mean the defaults.
//
// It returns an error if timer is nil, if timeout is not positive, or if an
// option is out of its range.
func NewReaper(timer hwt.Timer, timeout time.Duration, options *Options) (*Reaper, error) {
	if err := check.NotNil("idle", "NewReaper", "timer", timer, "an hwt.Timer"); err != nil {
		return nil, err
	}
	if err := check.Positive("idle", "NewReaper", "timeout", timeout); err != nil {
		return nil, err
	}
	o, err := complete(options)
	if err != nil {
		return nil, err
	}
	r := &Reaper{options: o, timer: timer, timeout: timeout}
	r.closePool.reaper = r
	r.shards = make([]shard, cacheline.Stripes(1, maxShards))
	start := time.Now()
	for i := range r.shards {
		r.shards[i].reaper, r.shards[i].start = r, start
	}
	return r, nil
}

// Wrap returns c, watched: the reaper closes it when it is idle. A read in
// progress then, and all later operations, return errors that are [ErrIdle] by
// errors.Is. To close the connection ends the watch at once. The package's
// documentation describes what counts as activity, and what a wrapped connection
// can do.
//
// Wrap does not fail. If the timer is at its limit of pending timeouts, one of
// Go's own timers replaces it. If the timer is stopped or the reaper closed, the
// connection works but is not watched, and the error handler is called; if the
// reaper was closed with [Options.CloseAll], the connection is closed.
//
// Wrap takes amortized constant time, one allocation, and a lock that is held
// briefly.
func (r *Reaper) Wrap(c net.Conn) net.Conn {
	wrapped := wrap(c)
	own := wrapped.base()
	own.watch.pieces = r.options.Activity&ActivityWrite != 0 && isStream(c)
	r.begin(&own.watch, wrapped, c)
	return wrapped
}

// Watch begins to watch c. It is active when Touch is called on the result.
// Watch does not fail, as Wrap does not, and costs the same.
func (r *Reaper) Watch(c io.Closer) *Watch {
	w := &Watch{}
	r.begin(w, c, c)
	return w
}

// begin makes w watch c. given is the connection or other thing without its
// wrapper.
func (r *Reaper) begin(w *Watch, c, given io.Closer) {
	timeout := r.timeout
	if r.options.TimeoutOf != nil {
		if own := r.options.TimeoutOf(given); own > 0 {
			timeout = own
		}
	}
	s := &r.shards[rand.Uint32()&uint32(len(r.shards)-1)]
	w.init(s, c, timeout)
	s.add(w)
}

// Close ends all watches. With [Options.CloseAll] everything that was watched is
// closed; Close does not wait for that. Close does not stop the timer. It always
// returns nil, and does nothing the second time.
//
// It takes time proportional to the number of watches.
func (r *Reaper) Close() error {
	for i := range r.shards {
		r.shards[i].close()
	}
	return nil
}

// closeReason is why watches end when the reaper is closed.
func (r *Reaper) closeReason() endReason {
	if r.options.CloseAll {
		return endClosed
	}
	return endReleased
}

// refused reports the error of a timer that did not take a timeout, if any.
func (r *Reaper) refused(err error) {
	if err != nil {
		r.warn(fmt.Errorf("idle: the timer refused a timeout: %w", err))
	}
}

// warn reports err. The default logs the first such error only.
func (r *Reaper) warn(err error) {
	if r.options.ErrorHandler != nil {
		r.report(err)
		return
	}
	r.warned.Do(func() { r.options.Logger.Warn(err.Error()) })
}

// report calls the error handler with err. If there is none, or it does not
// return, report logs.
func (r *Reaper) report(err error) {
	if r.options.ErrorHandler == nil {
		r.log(err)
		return
	}
	usercode.Run(func() { r.options.ErrorHandler(err) }, func(broken error) {
		r.log(err)
		r.log(fmt.Errorf("idle: error handler did not return: %w", broken))
	})
}

// log logs what the user's code did wrong, and not that a connection returned an
// error as it was closed.
func (r *Reaper) log(err error) {
	defer func() { _ = recover() }() // the log is the last resort
	var broken *hwt.PanicError
	if errors.As(err, &broken) {
		r.options.Logger.Error(err.Error(), "stack", string(broken.Stack))
	} else if errors.Is(err, hwt.ErrGoexit) {
		r.options.Logger.Error(err.Error())
	}
}
