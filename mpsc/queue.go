// Package mpsc provides a lock-free queue for many producers and a single consumer.
//
//	type job struct {
//		next mpsc.Link[job]
//		// …
//	}
//	var q mpsc.Queue[job]
//	q.Init(func(j *job) *mpsc.Link[job] { return &j.next })
//	q.Push(new(job)) // by any goroutine
//	j := q.Pop()     // by the consumer
//
// A [Link] in each element connects the element to the next. A push does not allocate, and
// an element takes no memory beyond the Link. Producers push with one compare-and-swap. The
// consumer takes over all pushed elements with another compare-and-swap, and then pops them
// without synchronization. A queue can be closed: every later push fails, and the elements
// pushed before can still be drained.
//
// Use a queue to pass work to a goroutine that checks the queue regularly, such as a
// timer's worker. A consumer that polls without pause slows the producers, because the
// consumer shares the cache line to which producers write. There is no blocking pop. A
// consumer that wants to sleep until an element arrives publishes its sleep and then calls
// [Queue.Empty] once more; see the Parking example. If the consumer must block, or the
// queue must be bounded, use a channel.
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
// The producers' side is a stack: head points to the newest element, and each element points to
// the element pushed before. The consumer takes the whole stack in one step and reverses the
// stack, which makes the whole a queue.
//
//	I1. Through one link, an element is in at most one queue, and there only once.
//	    The link belongs to the pushing goroutine until the compare-and-swap in
//	    Push, then to the consumer until Pop returns the element.
//	I2. The compare-and-swap that makes e the head publishes e, its link, and the
//	    elements that PushAll linked below e. It synchronizes before all later ones,
//	    including the sentinel's. It therefore synchronizes before the operation by
//	    which take gets e: the compare-and-swap that empties the stack, or the load
//	    that finds the sentinel.
//	I3. A head of &sentinel never changes. The elements that were on the stack are
//	    linked below the sentinel, and only the consumer removes elements.
//	I4. The sentinel is pushed once, under closing. No goroutine writes its link
//	    before that.
//	I5. oldest and all elements linked from it belong to the consumer.
//	I6. The fields that the consumer uses for taken elements are not on the cache
//	    line of head, or every Pop would wait for the producers' writes.
//
// Races and outcomes:
//
//	Push with Push    one compare-and-swap fails and is retried.
//	Push with take    this take or the next one takes the element. There is no ABA
//	                  fault: Push needs head only as the value of its link, and
//	                  take detaches all elements or no element.
//	Push with Close   either e is below the sentinel and will be drained, or Push
//	                  sees the sentinel and fails.
//	take with Close   take swaps out only a head that is not the sentinel (I3).

// Link links an element of type T into a queue. The zero value is ready to use. An element
// with several links can be in several queues.
type Link[T any] struct {
	next *T // Pusher's until Push, then the consumer's (I1).
}

// linkOffset is one more than the offset of the link in a T. The zero value belongs to
// a queue without Init.
type linkOffset[T any] uintptr

func (at linkOffset[T]) of(e *T) *Link[T] {
	return (*Link[T])(unsafe.Add(unsafe.Pointer(e), uintptr(at)-1))
}

// Queue is an unbounded, intrusive, lock-free queue. Call Init before any other method. A
// Queue must not be copied. A Queue takes about 300 bytes, mostly padding, and space for
// one T.
//
// Any goroutine may call Push, PushAll, Close, and Closed. Only the consumer may call
// Pop, Drain, DeleteFunc, and Empty. Calls of the consumer must not be concurrent.
type Queue[T any] struct {
	pushLink linkOffset[T]     // for Push. Immutable after Init.
	head     atomic.Pointer[T] // newest element, nil, or &sentinel. Atomic: written and read by all.
	_        [cacheline.Padding - unsafe.Sizeof(uintptr(0))]byte

	takeLink linkOffset[T] // for the consumer, equal to pushLink (I6). Immutable after Init.
	oldest   *T            // oldest of the elements taken and not yet popped. Consumer only.
	latest   *T            // newest of the consumer's elements; nil if oldest is nil. Consumer only.

	sentinel T          // head of a closed queue; only its link is used (I3).
	closing  sync.Mutex // serializes Close, because there is one sentinel.
	_        [cacheline.Padding]byte
}

// Init makes the zero Queue ready. Call Init before any other method. link returns the
// address of the field that links an element, always of the same field. Init panics if link
// does not return the address of a field of the argument.
//
//go:noinline
func (q *Queue[T]) Init(link func(*T) *Link[T]) {
	var probe T // on the heap, because link is unknown here; the address of probe does not change
	at := uintptr(unsafe.Pointer(link(&probe)))
	base := uintptr(unsafe.Pointer(&probe))
	if at < base || at+unsafe.Sizeof(Link[T]{}) > base+unsafe.Sizeof(probe) {
		panic(fmt.Sprintf("mpsc: link must return the address of a field of its argument, a %T", probe))
	}
	q.pushLink = linkOffset[T](at - base + 1)
	q.takeLink = q.pushLink
}

// Push appends e. e must not already be in a queue through the same link. If the queue is
// closed, Push returns false and does not change e. Push panics if e is nil.
//
// Elements are drained in the order in which the pushes took effect: if one push returned
// before another began, the first push's element comes first. The elements of one goroutine
// are drained in the order of pushes.
//
// Push does not block or allocate. Push takes constant time, except for retries. A retry
// happens only if another operation succeeded.
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

// PushAll appends the elements of the sequence in order, without elements of other pushes
// in between. If the queue is closed, PushAll returns false, and neither appends nor
// changes an element. PushAll panics if an element is nil or repeats the previous element.
// The requirements of Push apply to each element.
//
// The sequence must not use the queue. PushAll costs one compare-and-swap, except for
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

// unlink separates the elements linked from e.
func (q *Queue[T]) unlink(e *T) {
	for e != nil {
		link := q.pushLink.of(e)
		e, link.next = link.next, nil
	}
}

// Close makes every later Push fail. Elements pushed before can still be drained. Close
// returns true the first time, and false if the queue was already closed.
//
// Close blocks only during another Close.
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

// Pop removes and returns the oldest element, or nil if the queue is empty. Pop takes
// amortized constant time: when no taken element is left, Pop takes over all elements
// pushed since and reverses their order. Consumer only.
func (q *Queue[T]) Pop() *T {
	if q.oldest == nil {
		q.append(q.take(), nil)
	}
	e := q.oldest
	if e == nil {
		return nil
	}
	link := q.takeLink.of(e)
	q.oldest, link.next = link.next, nil // e must not keep later elements alive
	if q.oldest == nil {
		q.latest = nil
	}
	return e
}

// DeleteFunc takes over the pushed elements and removes the elements for which del returns
// true; the others keep their order. DeleteFunc does not examine elements that an earlier Pop
// or DeleteFunc took over. DeleteFunc is the cheapest way to discard useless elements: each is
// touched once. The time is proportional to the number of elements taken over. del must not
// use the queue. Consumer only.
func (q *Queue[T]) DeleteFunc(del func(*T) bool) { q.append(q.take(), del) }

// Drain removes at most n elements, oldest first, calls f with each, and returns the
// number. f may push elements to the queue, including the argument; Drain takes pushed
// elements in turn, within the limit of n. Consumer only.
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

// Empty reports whether the queue was empty at some moment during the call. Consumer
// only.
func (q *Queue[T]) Empty() bool {
	if q.oldest != nil {
		return false
	}
	head := q.head.Load()
	return head == nil || head == &q.sentinel && q.takeLink.of(head).next == nil
}

// take detaches all pushed elements and returns the newest, with the others linked below.
// take retries only if a push or a close intervened.
func (q *Queue[T]) take() *T {
	for {
		head := q.head.Load()
		switch {
		case head == nil:
			return nil
		case head == &q.sentinel: // closed forever, so there are no races (I3)
			link := q.takeLink.of(head)
			head, link.next = link.next, nil
			return head
		case q.head.CompareAndSwap(head, nil): // Synchronizes after every push taken (I2).
			return head
		}
	}
}

// append reverses the stack below newest and appends the stack to the consumer's elements,
// without the elements for which del returns true; del may be nil.
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
