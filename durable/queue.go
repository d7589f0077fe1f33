package durable

import "sync"

// queue holds the rows that wait for their handlers. Groups take turns. The queue needs no limit, since the
// number of held rows has one: put never blocks (W2).
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	items  turns // Guarded by mu.
	closed bool  // Guarded by mu.
	idle   int   // goroutines that wait in get. Guarded by mu.
	waking bool  // one of them was signalled, and has not run. Guarded by mu.
}

func newQueue() *queue {
	q := &queue{}
	q.ready.L = &q.mu
	return q
}

// put adds a row, unless the queue is closed.
func (q *queue) put(h *flight) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		h.move(queued)
		q.items.put(h)
		q.wake()
	}
	return !q.closed
}

// wake wakes a goroutine if items wait. A woken goroutine wakes the next one if items remain, before
// it runs its handler. The caller holds mu.
func (q *queue) wake() {
	if q.items.n > 0 && q.idle > 0 && !q.waking {
		q.waking = true
		q.ready.Signal()
	}
}

// get waits for a row. It returns nil after close.
func (q *queue) get() *flight {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.items.n == 0 {
		if q.closed {
			return nil
		}
		q.idle++
		q.ready.Wait()
		q.idle--
		q.waking = false
	}
	h := q.items.take()
	q.wake()
	return h
}

// oldest returns the earliest due time in the queue, or 0.
func (q *queue) oldest() (due int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for h := range q.items.all() {
		if due == 0 || h.row.Due < due {
			due = h.row.Due
		}
	}
	return due
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.n
}

// close ends get and put, and returns the rows that were in the queue.
func (q *queue) close() []*flight {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows := q.items.takeFirst(q.items.n)
	q.closed = true
	q.ready.Broadcast()
	return rows
}
