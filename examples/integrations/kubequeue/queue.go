// Package kubequeue provides a delaying queue for the controllers of client-go, on
// package keyed:
//
//	queue, err := kubequeue.New(timer, workqueue.NewTyped[string]())
//	limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
//		workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: queue})
//
// All queues of a program may share one timer. Adding an item removes its pending
// delayed add, so a controller does not process it twice (kubernetes/kubernetes
// issue 126027).
package kubequeue

import (
	"errors"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

// Interface has the methods of client-go's workqueue.TypedInterface.
type Interface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
}

// Queue is an Interface with items that can be added after a delay. It implements client-go's
// workqueue.TypedDelayingInterface.
type Queue[T comparable] struct {
	Interface[T]
	delayed *keyed.Wheel[T, struct{}]
}

// New returns a delaying queue that adds items to ready. Delayed adds run where timer
// runs its tasks.
func New[T comparable](timer hwt.Timer, ready Interface[T]) (*Queue[T], error) {
	delayed, err := keyed.New(timer, func(item T, _ struct{}) { ready.Add(item) }, nil)
	if err != nil {
		return nil, err
	}
	return &Queue[T]{ready, delayed}, nil
}

// Add adds item now and removes its delayed add.
func (q *Queue[T]) Add(item T) {
	q.delayed.Delete(item)
	q.Interface.Add(item)
}

// AddAfter adds item after delay, or at the time of its delayed add if that is
// sooner.
func (q *Queue[T]) AddAfter(item T, delay time.Duration) {
	if delay <= 0 {
		q.Add(item)
		return
	}
	_, err := q.delayed.SetIfSooner(item, struct{}{}, delay)
	if err != nil && !errors.Is(err, keyed.ErrClosed) {
		time.AfterFunc(delay, func() { q.Interface.Add(item) }) // a controller must not lose an item
	}
}

// ShutDown shuts down the queue and drops the delayed adds.
func (q *Queue[T]) ShutDown() {
	q.delayed.Close()
	q.Interface.ShutDown()
}

// ShutDownWithDrain is ShutDown, and waits until all items in process are done.
func (q *Queue[T]) ShutDownWithDrain() {
	q.delayed.Close()
	q.Interface.ShutDownWithDrain()
}
