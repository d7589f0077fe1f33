// Package delayqueue is a queue of items ordered by due time. An item leaves the queue
// only when it is due.
//
// A Queue wraps the priority queue of github.com/Workiva/go-datastructures, a binary heap.
// There, taking from an empty queue blocks, and the head may change between Peek and Get.
// Here Take never blocks, and tests and takes in one step.
//
// # Concurrency
//
// A Queue and the Items in a Queue belong to the holder of one lock, the timer's. The
// heap's own lock is never contended. The owner sleeps until Next; a caller that adds an
// earlier item must wake the owner.
//
// # Cost
//
// With n items, Put and Take take O(log n) time, Next and Head O(1). Put allocates only
// when the heap grows. Take allocates 16 bytes, in which the heap returns an item.
package delayqueue

import (
	"cmp"
	"math"

	"github.com/Workiva/go-datastructures/queue"
)

// Never is the result of Next for an empty queue.
const Never = math.MaxInt64

// Item is a value that can be in one queue, repeatedly. An Item must not be copied while
// queued.
type Item[T any] struct {
	Value  T
	due    int64 // The last due time if not queued. Constant while queued.
	queued bool
}

// Compare implements queue.Item.
func (i *Item[T]) Compare(other queue.Item) int {
	return cmp.Compare(i.due, other.(*Item[T]).due)
}

// Queue holds items until the due time.
type Queue[T any] struct{ heap *queue.PriorityQueue }

// New returns an empty queue.
func New[T any]() *Queue[T] {
	// Duplicates are allowed because Item.queued excludes them without the heap's map.
	return &Queue[T]{heap: queue.NewPriorityQueue(0, true)}
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return q.heap.Len() }

// Put adds item with a due time. If item is queued already, Put returns false and changes
// nothing.
func (q *Queue[T]) Put(item *Item[T], due int64) bool {
	if item.queued {
		return false
	}
	item.due, item.queued = due, true
	if err := q.heap.Put(item); err != nil {
		panic(err) // impossible: the heap is never disposed of
	}
	return true
}

// Head returns the earliest item without removing it. Head returns nil for an empty queue.
func (q *Queue[T]) Head() *Item[T] {
	head, _ := q.heap.Peek().(*Item[T])
	return head
}

// Next returns the due time of the head, or Never for an empty queue.
func (q *Queue[T]) Next() int64 {
	if head := q.Head(); head != nil {
		return head.due
	}
	return Never
}

// Take removes and returns the earliest item if the item is due at now or earlier, and
// otherwise returns nil. The order of items with equal due times is not defined.
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
