// Package mpsc provides a lock-free queue for many producers and a single consumer.
//
//	type job struct {
//		next mpsc.Link[job]
//		// …
//	}
//	q := mpsc.New(func(j *job) *mpsc.Link[job] { return &j.next })
//	q.Push(new(job)) // by any goroutine
//	j := q.Pop()     // by the consumer
//
// Elements are linked by a [Link] that is a field of theirs, so a push allocates
// nothing and a queue takes no memory beyond its elements. Producers push with one
// compare-and-swap. The consumer takes all that was pushed with another one, and
// then pops element by element without synchronization. A queue can be closed: every
// later push fails, and everything pushed before can still be drained.
//
// Use it to hand work to a goroutine that looks at the queue now and then, such as
// a timer's worker. A consumer that polls without a pause slows the producers,
// because it shares the cache line to which they write. There is no blocking pop: a
// consumer that wants to sleep until there is work publishes that it sleeps and then
// calls [Queue.Empty] once more; see the Parking example. If the consumer must
// block, or the queue be bounded, use a channel.
package mpsc

import (
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// Ground rules
//
// The producers' side is a stack: head points at the newest element, each
// element at the one pushed before it. The consumer takes the whole stack at
// once and reverses it, which makes it a queue.
//
//	I1. By one link an element is in at most one queue, and in it once. The link
//	    belongs to the pushing goroutine until the compare-and-swap in Push, and
//	    from then on to the consumer, until Pop returns the element.
//	I2. The compare-and-swap that puts e at the head publishes e and its link, and
//	    those of what PushAll hung below e; it synchronizes before the later
//	    ones, that of sentinel included, and so before the operation by which
//	    take gets e: the compare-and-swap that empties the stack, or the load
//	    that finds sentinel on it.
//	I3. Once head is &sentinel it stays so. What was on the stack at that moment
//	    hangs below sentinel, and only the consumer unhooks it.
//	I4. sentinel is pushed once, under closing; nothing else writes its link
//	    before that.
//	I5. oldest and everything that hangs on it belong to the consumer.
//	I6. What the consumer needs for an element that was taken lies apart from
//	    head, or every Pop would wait for a line that the producers write to.
//
// The races, and what settles them:
//
//	Push with Push    one compare-and-swap fails and retries.
//	Push with take    an element is taken now, or with the next take. There is
//	                  no ABA fault: Push needs head only as the value of its
//	                  link, and take detaches all or nothing.
//	Push with Close   either e is below sentinel and will be drained, or Push sees
//	                  sentinel and fails.
//	take with Close   take swaps out only a head that is not sentinel (I3).

// Link is the field by which an element of type T hangs in a queue. Its zero
// value is ready. An element with several links can be in several queues.
type Link[T any] struct {
	next *T // Pusher's until Push, then the consumer's (I1).
}

// linkOffset is one more than the offset of the link in a T, so that 0 means a
// queue without Init.
type linkOffset[T any] uintptr

func (at linkOffset[T]) of(e *T) *Link[T] {
	return (*Link[T])(unsafe.Add(unsafe.Pointer(e), uintptr(at)-1))
}

// Queue is an unbounded, intrusive, lock-free queue. Make one with [New], or
// embed one and call Init. It must not be copied. It takes some 300 bytes, most
// of them padding, and room for one T.
//
// Push, PushAll, Close and Closed may be called from any goroutine; Pop, Drain,
// DeleteFunc and Empty by one goroutine at a time, the consumer.
type Queue[T any] struct {
	pushLink linkOffset[T]     // for Push. Immutable after Init.
	head     atomic.Pointer[T] // the newest element, nil, or &sentinel. Atomic: written by all, read by all.
	_        [cacheline.Padding - unsafe.Sizeof(uintptr(0))]byte

	takeLink linkOffset[T] // for the consumer, equal to pushLink (I6). Immutable after Init.
	oldest   *T            // of the elements taken and not yet popped. Consumer only.
	latest   *T            // the other end of it, nil with oldest. Consumer only.

	sentinel T          // stands at the head of a closed queue; only its link is used (I3).
	closing  sync.Mutex // makes one Close at a time, since there is one sentinel.
	_        [cacheline.Padding]byte
}

// New returns an empty queue of elements that are linked by the field to which
// link points, always the same one:
//
//	type job struct {
//		next mpsc.Link[job]
//		// …
//	}
//	q := mpsc.New(func(j *job) *mpsc.Link[job] { return &j.next })
//
// It panics if link does not return the address of a field of its argument.
func New[T any](link func(*T) *Link[T]) *Queue[T] {
	q := new(Queue[T])
	q.Init(link)
	return q
}

// Init makes the zero Queue ready, as New does. It must come before any other
// use.
//
//go:noinline
func (q *Queue[T]) Init(link func(*T) *Link[T]) {
	var probe T // on the heap, since link is unknown here: it stays where it is while we subtract
	at := uintptr(unsafe.Pointer(link(&probe)))
	base := uintptr(unsafe.Pointer(&probe))
	if at < base || at+unsafe.Sizeof(Link[T]{}) > base+unsafe.Sizeof(probe) {
		panic(fmt.Sprintf("mpsc: link must return the address of a field of the %T it is given", probe))
	}
	q.pushLink = linkOffset[T](at - base + 1)
	q.takeLink = q.pushLink
}

// Push appends e, which must not be in a queue by the same link already. It
// returns false, and does not change e, if the queue is closed. It panics if e is
// nil.
//
// Elements are drained in the order in which their pushes took effect: when one
// push returned before another began, its element comes first. So the elements
// of one goroutine come in the order in which it pushed them.
//
// Push does not block and does not allocate. It takes constant time, except for
// retries, which happen only if another operation succeeded.
func (q *Queue[T]) Push(e *T) bool {
	if e == nil || q.pushLink == 0 {
		panic("mpsc: Push of nil, or to a Queue without Init")
	}
	link := q.pushLink.of(e)
	for {
		head := q.head.Load()
		if head == &q.sentinel {
			link.next = nil
			return false
		}
		link.next = head
		if q.head.CompareAndSwap(head, e) { // Publishes e (I2). Linearization point.
			return true
		}
	}
}

// PushAll appends what elements yields, in that order and at once: nothing comes
// between, and none is appended if the queue is closed, which is when it returns
// false. Then it changes no element. It panics if one is nil or yielded twice in a
// row; otherwise what goes for the arguments of Push goes for each.
//
// elements must not use the queue. PushAll costs one compare-and-swap, except for
// retries, and writes each link once.
func (q *Queue[T]) PushAll(elements iter.Seq[*T]) bool {
	var first, newest *T
	for e := range elements {
		if e == nil || e == newest || q.pushLink == 0 {
			panic("mpsc: PushAll of nil or of one element twice, or to a Queue without Init")
		}
		if first == nil {
			first = e
		}
		q.pushLink.of(e).next = newest
		newest = e
	}
	if first == nil {
		return !q.Closed()
	}
	link := q.pushLink.of(first)
	for {
		head := q.head.Load()
		if head == &q.sentinel {
			link.next = nil
			q.unlink(newest)
			return false
		}
		link.next = head
		if q.head.CompareAndSwap(head, newest) { // Publishes all (I2). Linearization point.
			return true
		}
	}
}

// unlink takes apart the chain that hangs on e.
func (q *Queue[T]) unlink(e *T) {
	for e != nil {
		link := q.pushLink.of(e)
		e, link.next = link.next, nil
	}
}

// Close makes every later Push fail. What was pushed before can still be
// drained. It returns true the first time, false if the queue was closed
// already.
//
// Close waits for another Close under way, and for nothing else.
func (q *Queue[T]) Close() bool {
	q.closing.Lock()
	defer q.closing.Unlock()
	if q.Closed() {
		return false
	}
	return q.Push(&q.sentinel)
}

// Closed reports whether Close was called. A closed queue may still hold
// elements.
func (q *Queue[T]) Closed() bool { return q.head.Load() == &q.sentinel }

// Pop removes and returns the oldest element, or nil if there is none. It takes
// constant amortized time: a Pop that finds nothing left of what was taken over
// takes over all that was pushed since, and reverses it. Consumer only.
func (q *Queue[T]) Pop() *T {
	if q.oldest == nil {
		q.append(q.take(), nil)
	}
	e := q.oldest
	if e == nil {
		return nil
	}
	link := q.takeLink.of(e)
	q.oldest, link.next = link.next, nil // e must not keep its followers alive
	if q.oldest == nil {
		q.latest = nil
	}
	return e
}

// DeleteFunc takes over what producers have pushed and removes the elements for
// which del returns true; the others keep their order. Elements that an earlier
// Pop or DeleteFunc took over are not looked at. It is the cheapest way to drop
// elements that became useless while they waited, since it touches each once. It
// takes time proportional to what was pushed since the last take. del must not use
// the queue. Consumer only.
func (q *Queue[T]) DeleteFunc(del func(*T) bool) { q.append(q.take(), del) }

// Drain calls f with at most n elements, oldest first, and returns how many
// there were. An element has left the queue before f sees it. f may push to the
// queue, including the element itself: what it pushes is drained in turn, as far
// as n allows. Consumer only.
func (q *Queue[T]) Drain(n int, f func(*T)) int {
	for done := range n {
		e := q.Pop()
		if e == nil {
			return done
		}
		f(e)
	}
	return max(n, 0)
}

// Empty reports whether there is nothing to drain, at a moment during the call.
// Consumer only.
func (q *Queue[T]) Empty() bool {
	if q.oldest != nil {
		return false
	}
	head := q.head.Load()
	return head == nil || head == &q.sentinel && q.takeLink.of(head).next == nil
}

// take detaches all that was pushed and returns the newest, with the others
// below it. It retries only when a push or a close got in between.
func (q *Queue[T]) take() *T {
	for {
		head := q.head.Load()
		switch {
		case head == nil:
			return nil
		case head == &q.sentinel: // closed for good, so there is no one to race with (I3)
			link := q.takeLink.of(head)
			head, link.next = link.next, nil
			return head
		case q.head.CompareAndSwap(head, nil): // Synchronizes after every push taken (I2).
			return head
		}
	}
}

// append reverses the stack below newest, leaves out the elements for which del,
// unless it is nil, returns true, and puts the rest behind what the consumer has.
func (q *Queue[T]) append(newest *T, del func(*T) bool) {
	var first, last *T
	for newest != nil {
		e := newest
		link := q.takeLink.of(e)
		newest = link.next
		if del != nil && del(e) {
			link.next = nil
			continue
		}
		link.next, first = first, e
		if last == nil {
			last = e
		}
	}
	switch {
	case first == nil:
		return
	case q.oldest == nil:
		q.oldest = first
	default:
		q.takeLink.of(q.latest).next = first
	}
	q.latest = last
}
