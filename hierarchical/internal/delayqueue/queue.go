// Package delayqueue is a queue of things that wait until they are due: the
// earliest first, and none before its time.
//
// It is the priority queue of github.com/Workiva/go-datastructures, a binary heap,
// without what would hurt a timer. There, taking from an empty queue blocks, and
// the head may change between Peek and Get. Here nothing blocks, and Take is one
// step: it gives what is due, or nothing.
//
// # Concurrency
//
// None: a Queue and the Items in it belong to the holder of one lock, which is the
// timer's. The locks of the heap itself guard less than the callers need, and are
// never contended. The owner sleeps until Next; a caller that adds an earlier item
// must wake it.
//
// # Costs
//
// With n items, Put and Take take O(log n), Next and Head O(1). Put allocates
// only when the heap grows, Take the 16 bytes in which the heap hands out an
// item.
package delayqueue

import (
	"cmp"
	"math"

	"github.com/Workiva/go-datastructures/queue"
)

// Never is what Next returns when nothing waits.
const Never = math.MaxInt64

// Item is a value that can wait in a queue, in one at a time, and as often as
// its owner likes. It must not be copied while it waits.
type Item[T any] struct {
	Value  T
	due    int64 // Unchanging while queued.
	queued bool
}

// Due returns when the item is due, or was when it last waited.
func (i *Item[T]) Due() int64 { return i.due }

// Queued reports whether the item waits in a queue.
func (i *Item[T]) Queued() bool { return i.queued }

// Compare implements queue.Item; it is not for callers.
func (i *Item[T]) Compare(other queue.Item) int {
	return cmp.Compare(i.due, other.(*Item[T]).due)
}

// Queue holds the items that wait.
type Queue[T any] struct{ heap *queue.PriorityQueue }

// New returns an empty queue.
func New[T any]() *Queue[T] {
	// Duplicates are allowed since Item.queued excludes them for less than the
	// heap's map would cost.
	return &Queue[T]{heap: queue.NewPriorityQueue(0, true)}
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.heap.Len() }

// Put lets item wait until due. It returns false, and changes nothing, if item
// waits already.
func (q *Queue[T]) Put(item *Item[T], due int64) bool {
	if item.queued {
		return false
	}
	item.due, item.queued = due, true
	if err := q.heap.Put(item); err != nil {
		panic(err) // the heap is never disposed of
	}
	return true
}

// Head returns the item that is due first, which stays; nil if none waits.
func (q *Queue[T]) Head() *Item[T] {
	head, _ := q.heap.Peek().(*Item[T])
	return head
}

// Next returns when the head is due; Never if nothing waits.
func (q *Queue[T]) Next() int64 {
	if head := q.Head(); head != nil {
		return head.due
	}
	return Never
}

// Take takes out the item that is due first, if it is due at now or before;
// otherwise it takes nothing and returns nil. Items due at the same time come in
// no promised order.
func (q *Queue[T]) Take(now int64) *Item[T] {
	head := q.Head()
	if head == nil || head.due > now {
		return nil
	}
	if _, err := q.heap.Get(1); err != nil { // does not block: the heap is not empty
		panic(err)
	}
	head.queued = false
	return head
}
