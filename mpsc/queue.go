// Package mpsc is a lock-free queue for many producers and a single consumer.
//
// Elements are linked by a [Link] that they carry themselves, so a push
// allocates nothing and a queue of any length costs the memory of its elements
// alone. Producers push with one compare-and-swap; the consumer takes all that
// was pushed with another one, and then hands it out element by element without
// any further synchronization. A queue can be closed, by anyone: every later
// push fails, and everything pushed before is still drained. Nothing slips
// between.
//
// A push and its pop take some 20 ns of processor time in all. Looking at the
// queue is not free for the producers: it brings the line to which they write to
// the consumer's processor. So a consumer that polls without a pause slows them;
// one that sleeps, or comes by now and then, does not.
//
// Take it to hand work to a goroutine that comes by now and then, such as a
// timer's worker. It has no blocking pop: a consumer that wants to sleep until
// there is work arranges for that itself, by publishing that it sleeps and then
// looking at [Queue.Empty] once more. Where the consumer shall block, or the
// queue be bounded, a channel is the better choice.
package mpsc

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Ground rules
//
// The producers' side is a stack: head points at the newest element, each
// element at the one pushed before it. The consumer takes the whole stack at
// once and turns it round, which makes it a queue.
//
//	I1. By one link an element is in at most one queue, and in it once. The link
//	    belongs to the pushing goroutine until the compare-and-swap in Push, and
//	    from then on to the consumer, until Pop returns the element.
//	I2. The compare-and-swap that puts e at the head publishes e and its link;
//	    it synchronizes before the later ones, mark's included, and so before
//	    the operation by which take gets e: the compare-and-swap that empties
//	    the stack, or the load that finds mark on it.
//	I3. Once head is &mark it stays so. What was on the stack at that moment
//	    hangs below mark, and only the consumer unhooks it.
//	I4. mark is pushed once, under closing; nobody else writes its link before
//	    that.
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
//	Push with Close   either e is below mark and will be drained, or Push sees
//	                  mark and fails.
//	take with Close   take swaps out only a head that is not mark (I3).

// falseSharing is the distance, in bytes, at which two processors do not
// disturb each other's writes: two cache lines of 64 bytes, because amd64
// fetches them in pairs and several arm64 processors have lines of 128.
const falseSharing = 128

// Link is the field by which an element of type T hangs in a queue. Its zero
// value is ready. An element with several links can be in several queues.
type Link[T any] struct {
	next *T // Pusher's until Push, then the consumer's (I1).
}

// linkAt is one more than the offset of the link in a T, so that a queue that
// was never made ready can be told.
type linkAt[T any] uintptr

func (at linkAt[T]) of(e *T) *Link[T] {
	return (*Link[T])(unsafe.Add(unsafe.Pointer(e), uintptr(at)-1))
}

// Queue is an unbounded, intrusive, lock-free queue. Make one with [New], or
// embed one and call Init. It must not be copied. It takes some 300 bytes, most
// of them padding, and room for one T.
//
// Push, Close and Closed may be called from any goroutine; Pop, Drain, Prune and
// Empty by one goroutine at a time, the consumer.
type Queue[T any] struct {
	pushLink linkAt[T]         // for Push. Immutable after Init.
	head     atomic.Pointer[T] // the newest element, nil, or &mark. Atomic: written by all, read by all.
	_        [falseSharing - unsafe.Sizeof(uintptr(0))]byte

	takeLink linkAt[T] // for the consumer, equal to pushLink (I6). Immutable after Init.
	oldest   *T        // of what was taken and not yet handed out. Consumer only.
	latest   *T        // the other end of it, nil with oldest. Consumer only.

	mark    T          // stands at the head of a closed queue; only its link is used (I3).
	closing sync.Mutex // makes one Close at a time, since there is one mark.
	_       [falseSharing]byte
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
	q.pushLink = linkAt[T](at - base + 1)
	q.takeLink = q.pushLink
}

// Push appends e, which must not be in a queue by the same link already. It
// returns false, and leaves e alone, if the queue is closed. It panics if e is
// nil.
//
// Elements are drained in the order in which their pushes took effect: when one
// push returned before another began, its element comes first. So the elements
// of one goroutine come in the order in which it pushed them.
//
// Push does not block and does not allocate. It takes constant time, but for
// retries, and it retries only when another goroutine's push, take or close got
// in between, so that some goroutine always makes progress.
func (q *Queue[T]) Push(e *T) bool {
	if e == nil || q.pushLink == 0 {
		panic("mpsc: Push of nil, or to a Queue without Init")
	}
	link := q.pushLink.of(e)
	for {
		head := q.head.Load()
		if head == &q.mark {
			link.next = nil
			return false
		}
		link.next = head
		if q.head.CompareAndSwap(head, e) { // Publishes e (I2). Linearization point.
			return true
		}
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
	return q.Push(&q.mark)
}

// Closed reports whether Close was called. A closed queue may still hold
// elements.
func (q *Queue[T]) Closed() bool { return q.head.Load() == &q.mark }

// Pop removes and returns the oldest element, or nil if there is none. It takes
// constant time, amortized: one Pop in a while turns round all that was pushed
// since the last such. Consumer only.
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

// Prune removes the elements that void names, of those pushed since the consumer
// last found the queue empty or pruned it; the others keep their order. For a
// consumer whose elements may have become void while they waited, it is the
// cheapest way to let go of them: each is touched once. void must not use the
// queue. Consumer only.
func (q *Queue[T]) Prune(void func(*T) bool) { q.append(q.take(), void) }

// Drain calls f with at most n elements, oldest first, and returns how many
// there were. An element has left the queue before f sees it. f may push to the
// queue, also the element itself: what it pushes is drained in its turn, as long
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
	return head == nil || head == &q.mark && q.takeLink.of(head).next == nil
}

// take detaches all that was pushed and returns the newest, with the others
// below it. It retries only when a push or a close got in between.
func (q *Queue[T]) take() *T {
	for {
		head := q.head.Load()
		switch {
		case head == nil:
			return nil
		case head == &q.mark: // closed for good, so there is no one to race with (I3)
			link := q.takeLink.of(head)
			head, link.next = link.next, nil
			return head
		case q.head.CompareAndSwap(head, nil): // Synchronizes after every push taken (I2).
			return head
		}
	}
}

// append turns the stack below newest round, leaves out what void names, unless
// it is nil, and puts the rest behind what the consumer has.
func (q *Queue[T]) append(newest *T, void func(*T) bool) {
	var first, last *T
	for newest != nil {
		e := newest
		link := q.takeLink.of(e)
		newest = link.next
		if void != nil && void(e) {
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
