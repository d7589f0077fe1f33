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

// maxCloseWorkers is the maximum number of concurrent closes. A blocked close
// occupies a worker.
const maxCloseWorkers = 256

// maxKept is the maximum capacity that an empty queue keeps.
const maxKept = 1 << 12

// closePool closes expired connections and other resources. The worker goroutines exist only
// while the queue is not empty. Before a close, a worker starts another worker if the queue
// is not empty. Blocked closes delay no other until maxCloseWorkers are blocked.
type closePool struct {
	reaper *Reaper // Immutable after New.

	mu      sync.Mutex
	queue   []expired // Guarded by mu.
	head    int       // index of the oldest entry of queue. Guarded by mu.
	workers int       // Guarded by mu.
	closing int       // number of workers in a close. Guarded by mu.
}

// add queues expired watches.
func (p *closePool) add(ended []expired) {
	if len(ended) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head > len(p.queue)/2 { // reuse the space of completed entries
		p.queue, p.head = slices.Delete(p.queue, 0, p.head), 0
	}
	p.queue = append(p.queue, ended...)
	p.startWorker()
}

// pending returns the number of watches that are not closed yet.
func (p *closePool) pending() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.queue) - p.head + p.closing)
}

// startWorker starts a worker if the queue is not empty. Guarded by mu.
func (p *closePool) startWorker() {
	if p.head < len(p.queue) && p.workers < maxCloseWorkers {
		p.workers++
		go p.work()
	}
}

// work closes until the queue is empty. If OnExpire or a Close ends the goroutine,
// another worker takes over.
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

// close calls OnExpire, and closes even if OnExpire does not return.
func (p *closePool) close(e expired) {
	defer func() {
		p.mu.Lock()
		p.closing--
		p.mu.Unlock()
	}()
	r, event := p.reaper, e.event()
	var err error
	defer func() {
		if err != nil && !errors.Is(err, net.ErrClosed) { // ErrClosed: the user has also closed the connection
			r.report(fmt.Errorf("idle: closing %s: %w", typeOf(event.Closer), err))
		}
	}()
	defer r.call("Close", event.Closer, func() { err = closeExpired(event.Closer) })
	if r.options.OnExpire != nil && event.Reason != ErrClosed {
		r.call("OnExpire", event.Closer, func() { r.options.OnExpire(event) })
	}
}

// closeExpired closes c after its watch has ended.
func closeExpired(c io.Closer) error {
	if own, ok := c.(wrapper); ok {
		return own.base().closeSoon()
	}
	return c.Close()
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

// call calls f, and reports if f does not return. f runs user code.
func (r *Reaper) call(name string, c io.Closer, f func()) {
	usercode.Run(f, func(err error) {
		r.panics.Add(1)
		r.report(fmt.Errorf("idle: %s of %s: %w", name, typeOf(c), err))
	})
}

// typeOf returns the type of a watched value, without a connection's wrapper.
func typeOf(c io.Closer) string {
	if own, ok := c.(wrapper); ok {
		c = own.base().Conn
	}
	return fmt.Sprintf("%T", c)
}
