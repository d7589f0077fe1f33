package idle

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// maxClosers bounds how many goroutines close at the same time. A close that
// hangs occupies one of them.
const maxClosers = 256

// maxKept bounds the room that the queue keeps when it is empty.
const maxKept = 1 << 12

// errGoexit is reported for a callback that ended its goroutine.
var errGoexit = errors.New("called runtime.Goexit")

// victim is a watch whose life the reaper has ended, and when.
type victim struct {
	watch *Watch
	at    int64
}

// closers runs the callbacks and the closes, away from the timer's worker, on
// goroutines that exist only while there is something to close. Each takes one
// victim at a time; and before it turns to it starts another goroutine if there
// is more to do. So what hangs holds up nobody else, until maxClosers hang.
type closers struct {
	reaper *Reaper // Immutable after NewReaper.

	mu      sync.Mutex
	queue   []victim // Guarded by mu.
	head    int      // of the queue. Guarded by mu.
	running int      // goroutines. Guarded by mu.
	busy    int      // of them, those that close. Guarded by mu.
}

// take takes over what is to be closed.
func (c *closers) take(victims []victim) {
	if len(victims) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head > len(c.queue)/2 { // what is done makes room, before the queue grows
		c.queue, c.head = slices.Delete(c.queue, 0, c.head), 0
	}
	c.queue = append(c.queue, victims...)
	c.recruit()
}

// waiting returns how many victims are not closed yet.
func (c *closers) waiting() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.queue) - c.head + c.busy)
}

// recruit starts a goroutine if one more has something to do. Guarded by mu.
func (c *closers) recruit() {
	if c.head < len(c.queue) && c.running < maxClosers {
		c.running++
		go c.work()
	}
}

// work closes until the queue is empty. A callback may end the goroutine by
// runtime.Goexit; another one then goes on.
func (c *closers) work() {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
		c.recruit()
	}()
	for {
		v, ok := c.next()
		if !ok {
			return
		}
		c.finish(v)
	}
}

func (c *closers) next() (v victim, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == len(c.queue) {
		return v, false
	}
	v, c.queue[c.head] = c.queue[c.head], victim{}
	if c.head++; c.head == len(c.queue) {
		c.head, c.queue = 0, c.queue[:0]
		if cap(c.queue) > maxKept {
			c.queue = nil
		}
	}
	c.busy++
	c.recruit()
	return v, true
}

// finish tells of the end, and then closes whatever the callback did.
func (c *closers) finish(v victim) {
	defer func() {
		c.mu.Lock()
		c.busy--
		c.mu.Unlock()
	}()
	r, e := c.reaper, v.event()
	defer r.isolated("Close", e.What, func() {
		if err := e.What.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // else somebody was faster
			r.report(fmt.Errorf("idle: closing %T: %w", e.What, err))
		}
	})
	if r.onIdle != nil && e.Reason != ErrClosed {
		r.isolated("OnIdle", e.What, func() { r.onIdle(e) })
	}
}

func (v victim) event() Event {
	w := v.watch
	return Event{
		What:    w.what,
		Reason:  w.Err(),
		Idle:    time.Duration(v.at - w.life.last()),
		Age:     time.Duration(v.at - w.born),
		Timeout: w.Timeout(),
	}
}

// isolated calls f, users' code, and reports if it does not return.
func (r *Reaper) isolated(name string, what any, f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		err := errGoexit
		if v := recover(); v != nil {
			err = &hwt.PanicError{Value: v, Stack: debug.Stack()}
		}
		r.panics.Add(1)
		r.report(fmt.Errorf("idle: %s of %T: %w", name, what, err))
	}()
	f()
	returned = true
}
