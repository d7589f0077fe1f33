package idle

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/usercode"
)

// maxCloseWorkers bounds how many closes run at a time. A close that hangs
// occupies one of the workers.
const maxCloseWorkers = 256

// maxKept bounds the capacity that the queue keeps when it is empty.
const maxKept = 1 << 12

// closePool closes what has expired, on worker goroutines that exist only while
// there is something to close. Before a worker closes, it starts another one if
// more is queued. So a close that hangs delays no other until maxCloseWorkers
// hang.
type closePool struct {
	reaper *Reaper // Immutable after NewReaper.

	mu      sync.Mutex
	queue   []expired // Guarded by mu.
	head    int       // of the queue. Guarded by mu.
	workers int       // Guarded by mu.
	closing int       // of the workers. Guarded by mu.
}

// add queues what has expired.
func (p *closePool) add(ended []expired) {
	if len(ended) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head > len(p.queue)/2 { // reuse the room of those that are done
		p.queue, p.head = slices.Delete(p.queue, 0, p.head), 0
	}
	p.queue = append(p.queue, ended...)
	p.startWorker()
}

// pending returns how many are not closed yet.
func (p *closePool) pending() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.queue) - p.head + p.closing)
}

// startWorker starts a worker if one more has something to do. Guarded by mu.
func (p *closePool) startWorker() {
	if p.head < len(p.queue) && p.workers < maxCloseWorkers {
		p.workers++
		go p.work()
	}
}

// work closes until the queue is empty. If OnIdle or a Close ends the goroutine,
// another worker goes on.
func (p *closePool) work() {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.workers--
		p.startWorker()
	}()
	for {
		e, ok := p.next()
		if !ok {
			return
		}
		p.close(e)
	}
}

func (p *closePool) next() (e expired, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head == len(p.queue) {
		return e, false
	}
	e, p.queue[p.head] = p.queue[p.head], expired{}
	if p.head++; p.head == len(p.queue) {
		p.head, p.queue = 0, p.queue[:0]
		if cap(p.queue) > maxKept {
			p.queue = nil
		}
	}
	p.closing++
	p.startWorker()
	return e, true
}

// close calls OnIdle and closes, even if OnIdle does not return.
func (p *closePool) close(e expired) {
	defer func() {
		p.mu.Lock()
		p.closing--
		p.mu.Unlock()
	}()
	r, event := p.reaper, e.event()
	defer r.call("Close", event.Closer, func() {
		err := event.Closer.Close()
		if err != nil && !errors.Is(err, net.ErrClosed) { // else its user has closed it, too
			r.report(fmt.Errorf("idle: closing %s: %w", typeOf(event.Closer), err))
		}
	})
	if r.options.OnIdle != nil && event.Reason != ErrCloseAll {
		r.call("OnIdle", event.Closer, func() { r.options.OnIdle(event) })
	}
}

func (e expired) event() Event {
	w := e.watch
	return Event{
		Closer:  w.closer,
		Reason:  w.Err(),
		Idle:    time.Duration(e.at - w.state.last()),
		Age:     time.Duration(e.at - w.born),
		Timeout: w.Timeout(),
	}
}

// call calls f, the user's code, and reports if it does not return.
func (r *Reaper) call(name string, c io.Closer, f func()) {
	usercode.Run(f, func(err error) {
		r.panics.Add(1)
		r.report(fmt.Errorf("idle: %s of %s: %w", name, typeOf(c), err))
	})
}

// typeOf returns the type of what is watched, without the wrapper of a connection.
func typeOf(c io.Closer) string {
	if own, ok := c.(wrapper); ok {
		c = own.base().Conn
	}
	return fmt.Sprintf("%T", c)
}
