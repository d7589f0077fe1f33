package durable

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// queue holds the rows that wait for their handlers. Groups take turns. The queue needs no limit, since the
// number of held rows has one: put never blocks (W2).
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	first  []*flight // rows that have had their turn, before the others. Guarded by mu.
	items  turns     // Guarded by mu.
	closed bool      // Guarded by mu.
	start  func()    // starts a further goroutine that calls get, up to a number. Called under mu.
	idle   int       // goroutines that wait in get. Guarded by mu.
	waking bool      // one of them was signalled, and has not run. Guarded by mu.
}

// sooner returns the earlier one of two due times, of which 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// overdueAhead is the number of overdue rows per handler that wait in the queue, claimed. Further
// overdue rows stay pending, where Cancel reaches them, unless the database claims overdue rows as
// it leases them.
const overdueAhead = 8

func newQueue(start func()) *queue {
	q := &queue{start: start}
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

// putFirst is put for a row that has had its turn.
func (q *queue) putFirst(h *flight) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		h.move(queued)
		q.first = append(q.first, h)
		q.wake()
	}
	return !q.closed
}

// rows returns the number of rows. The caller holds mu.
func (q *queue) rows() int { return len(q.first) + q.items.n }

// wake wakes a goroutine if items wait, or starts a goroutine if all are busy. The goroutine wakes the next one if items
// remain, before it runs its handler. The caller holds mu.
func (q *queue) wake() {
	switch {
	case q.rows() == 0 || q.waking:
	case q.idle == 0:
		q.start()
	default:
		q.waking = true
		q.ready.Signal()
	}
}

// get waits for a row. It returns nil after close.
func (q *queue) get() *flight {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.rows() == 0 {
		if q.closed {
			return nil
		}
		q.idle++
		q.ready.Wait()
		q.idle--
		q.waking = false
	}
	var h *flight
	if len(q.first) > 0 {
		h, q.first[0] = q.first[0], nil
		q.first = q.first[1:] // putFirst copies the rest once the array is used up
	} else {
		h = q.items.take()
	}
	q.wake()
	return h
}

// oldest returns the earliest due time in the queue, or 0.
func (q *queue) oldest() (due int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	note := func(h *flight) { due = sooner(due, h.row.Due) }
	for _, h := range q.first {
		note(h)
	}
	for h := range q.items.all() {
		note(h)
	}
	return due
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows()
}

// close ends get and put, and returns the rows that were in the queue.
func (q *queue) close() []*flight {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows := append(q.first, q.items.takeFirst(q.items.n)...)
	q.first, q.closed = nil, true
	q.ready.Broadcast()
	return rows
}

// turns holds rows that wait, and gives them out by group in turn, W5: one row of a group, then one
// row of the next group. This is deficit round robin with the cost 1 for each row. The rows of a
// group leave in the order in which they came. Rows without a group are a group, too. The owner of a
// turns guards it.
type turns struct {
	last  *line            // the line before the next one in a ring of the lines with rows, or nil
	plain line             // rows without a group
	named map[string]*line // lines with rows of the other groups, by group
	n     int              // rows
}

// line has the rows of a group.
type line struct {
	rows []*flight
	next *line
}

func (t *turns) put(h *flight) {
	l := &t.plain
	if h.row.Group != "" {
		l = t.of(h.row.Group)
	}
	t.n++
	if l.rows = append(l.rows, h); len(l.rows) > 1 {
		return
	}
	if t.last == nil {
		t.last = l
	}
	l.next, t.last.next = t.last.next, l
	t.last = l
}

// of returns the line of a group with a name.
func (t *turns) of(group string) *line {
	l := t.named[group]
	if l == nil {
		l = &line{}
		if t.named == nil {
			t.named = make(map[string]*line)
		}
		t.named[group] = l
	}
	return l
}

// first returns the next row. There must be one.
func (t *turns) first() *flight { return t.last.next.rows[0] }

// takeOthers takes the rows that were not taken under the lease of a term.
func (t *turns) takeOthers(term uint64) (others []*flight) {
	for _, h := range t.takeFirst(t.n) {
		if h.term == term {
			t.put(h)
		} else {
			others = append(others, h)
		}
	}
	return others
}

// take takes the next row. There must be one.
func (t *turns) take() *flight {
	l := t.last.next
	h := l.rows[0]
	l.rows[0] = nil
	l.rows = l.rows[1:] // put copies the rest once the array is used up
	t.n--
	if len(l.rows) > 0 {
		t.last = l
	} else {
		t.end(l, h.row.Group)
	}
	return h
}

// end takes the next line, which has no row left, out of the ring.
func (t *turns) end(l *line, group string) {
	if t.last.next = l.next; l == t.last {
		t.last = nil
	}
	if group != "" {
		delete(t.named, group)
	}
}

// takeFirst takes the next rows, up to most.
func (t *turns) takeFirst(most int) []*flight {
	rows := make([]*flight, 0, min(most, t.n))
	for len(rows) < cap(rows) {
		rows = append(rows, t.take())
	}
	return rows
}

// all yields the rows.
func (t *turns) all() iter.Seq[*flight] {
	return func(yield func(*flight) bool) {
		for l, more := t.last, t.last != nil; more; more = l != t.last {
			for _, h := range l.rows {
				if !yield(h) {
					return
				}
			}
			l = l.next
		}
	}
}

// callers are the goroutines of a Work that call its handler.
type callers []caller

type caller struct {
	goroutine atomic.Uint64 // its ID
	flight    *flight       // that runs. Guarded by the mu of the limiter.
	begun     atomic.Int64  // when the handler that runs was called, in nanoseconds since the epoch, or 0
}

// running returns the number of running handlers, and the time since the first of them was called.
func (cs callers) running() (n int64, oldest time.Duration) {
	now := time.Now().UnixNano()
	for i := range cs {
		if begun := cs[i].begun.Load(); begun != 0 {
			n++
			oldest = max(oldest, time.Duration(now-begun))
		}
	}
	return n, oldest
}

// runsIn reports whether one of them runs a handler or OnOutcome in the goroutine.
func (cs callers) runsIn(goroutine uint64) bool {
	for i := range cs {
		if cs[i].goroutine.Load() == goroutine {
			return true
		}
	}
	return false
}

// stack returns the stack of the goroutine. It stops the program for the time of reading all stacks, of
// which it reads up to 16 MB.
func (c *caller) stack() string {
	all := make([]byte, 1<<20)
	for len(all) < 16<<20 && runtime.Stack(all, true) == len(all) {
		all = make([]byte, 2*len(all))
	}
	begin := fmt.Appendf(nil, "goroutine %d [", c.goroutine.Load())
	for stack := range bytes.SplitSeq(all[:runtime.Stack(all, true)], []byte("\n\n")) {
		if bytes.HasPrefix(stack, begin) {
			return string(stack)
		}
	}
	return "not found in 16 MB of stacks"
}

// goroutineID returns the ID of the calling goroutine, from the beginning of its stack trace.
func goroutineID() uint64 {
	var stack [64]byte
	fields := bytes.Fields(stack[:runtime.Stack(stack[:], false)])
	id, _ := strconv.ParseUint(string(fields[1]), 10, 64) // "goroutine 17 [running]:"
	return id
}
