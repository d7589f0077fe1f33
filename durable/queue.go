package durable

import "sync"

// queue holds the leases whose handlers are to be called, first in, first out. It
// is unbounded, since the number of leases is bounded: put must not block (W2).
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	items  []*lease // Guarded by mu.
	head   int      // Guarded by mu.
	closed bool     // Guarded by mu.
}

func newQueue() *queue {
	q := &queue{}
	q.ready.L = &q.mu
	return q
}

func (q *queue) put(l *lease) {
	q.mu.Lock()
	q.items = append(q.items, l)
	q.mu.Unlock()
	q.ready.Signal()
}

// get waits for a lease. It returns nil after close, when the queue is empty.
func (q *queue) get() *lease {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.items) {
		if q.closed {
			return nil
		}
		q.ready.Wait()
	}
	l := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return l
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.ready.Broadcast()
}
