package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// maxShards is the maximum number of shards of a reaper.
const maxShards = 64

// Reaper closes connections and other closers after their idle timeout. Create one
// with [New]. All methods are safe for concurrent use.
type Reaper struct {
	options   Options       // Immutable after New.
	timer     hwt.Timer     // Immutable after New.
	timeout   time.Duration // Immutable after New.
	shards    []shard       // The length is a power of two. Immutable after New.
	closePool closePool
	panics    atomic.Int64 // Atomic: written by the close pool, read by Stats.
	warned    sync.Once    // logs the first warning
}

// New returns a reaper that closes a connection or other closer after timeout
// without activity, at most one tick of timer later. The timer may have other
// users; the reaper does not stop it. nil options mean the defaults.
//
// New returns an error if timer is nil, if timeout is not positive, or if an
// option is out of range.
func New(timer hwt.Timer, timeout time.Duration, options *Options) (*Reaper, error) {
	if err := check.NotNil("idle", "New", "timer", timer, "an hwt.Timer"); err != nil {
		return nil, err
	}
	if err := check.Positive("idle", "New", "timeout", timeout); err != nil {
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

// Wrap returns c wrapped. The reaper closes an idle connection. A read in progress at that
// time and all later operations return errors that match [ErrIdle] by errors.Is. Closing
// the connection ends the watch. The package documentation describes activity and the
// methods of wrapped connections.
//
// Wrap never fails. If the timer is at its pending limit, a runtime timer replaces
// the timeout. If the timer is stopped or the reaper is closed, the connection
// works but is not watched, and the error handler is called. If the reaper was
// closed with [Options.CloseAll], the connection is closed.
//
// Wrap takes amortized constant time, one allocation, and a briefly held lock.
func (r *Reaper) Wrap(c net.Conn) net.Conn {
	wrapped := wrap(c)
	own := wrapped.base()
	own.watch.pieces = r.options.Activity&ActivityWrite != 0 && isStream(c)
	r.begin(&own.watch, wrapped, c)
	return wrapped
}

// Watch starts watching c. Each Touch of the result is activity. Watch never fails
// and costs as much as Wrap.
func (r *Reaper) Watch(c io.Closer) *Watch {
	w := &Watch{}
	r.begin(w, c, c)
	return w
}

// begin makes w watch c. given is c without its wrapper.
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

// Close ends all watches. With [Options.CloseAll], Close starts closing everything that was
// watched, without waiting. Close does not stop the timer. Calls after the first have no
// effect. Close implements [io.Closer] and always returns nil.
//
// Close takes time proportional to the number of watches.
func (r *Reaper) Close() error {
	for i := range r.shards {
		r.shards[i].close()
	}
	return nil
}

// closeReason returns the reason of watches that end with the reaper.
func (r *Reaper) closeReason() endReason {
	if r.options.CloseAll {
		return endClosed
	}
	return endStopped
}

// refused reports err, the error of a timer that rejected a timeout, unless it is nil.
func (r *Reaper) refused(err error) {
	if err != nil {
		r.warn(fmt.Errorf("idle: the timer rejected a timeout: %w", err))
	}
}

// warn reports err. Without an error handler, only the first error is logged.
func (r *Reaper) warn(err error) {
	if r.options.ErrorHandler != nil {
		r.report(err)
		return
	}
	r.warned.Do(func() { r.options.Logger.Warn(err.Error(), "reaper", r.options.Name) })
}

// report calls the error handler with err. It logs err if the handler is nil or does
// not return.
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

// log logs failures of user code as errors, and errors returned by a close for debugging.
func (r *Reaper) log(err error) {
	defer func() { _ = recover() }() // logging is the last resort
	level, attrs := slog.LevelError, []any{"reaper", r.options.Name}
	var broken *hwt.PanicError
	if errors.As(err, &broken) {
		attrs = append(attrs, "stack", string(broken.Stack))
	} else if !errors.Is(err, hwt.ErrGoexit) {
		level = slog.LevelDebug
	}
	r.options.Logger.Log(context.Background(), level, err.Error(), attrs...)
}
