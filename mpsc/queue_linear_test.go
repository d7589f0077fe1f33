package mpsc_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The queue is checked against a sequential first-in, first-out queue that can be
// closed. Several producers, a consumer, and two closers record their operations,
// with the times of call and return. porcupine searches for an order in which the
// sequential queue returns the same results.

// fifo is the interface of the checked queues.
type fifo interface {
	Push(*item) bool
	Pop() *item
	Close() bool
	Closed() bool
	Empty() bool
}

// client records the operations of one goroutine.
type client struct {
	id      int
	queue   fifo
	now     func() int64
	history []porcupine.Operation
}

func (c *client) record(a action, number int, do func() any) {
	start := c.now()
	yieldOnceIn(32) // as if preempted in the call, so that others overtake it
	outcome := do()
	c.history = append(c.history, porcupine.Operation{
		ClientId: c.id, Input: call{action: a, number: number}, Call: start, Output: outcome, Return: c.now(),
	})
}

func (c *client) push(number int) {
	i := &item{number: number}
	c.record(pushing, number, func() any { return c.queue.Push(i) })
}

func (c *client) pop() {
	c.record(popping, 0, func() any {
		if i := c.queue.Pop(); i != nil {
			return i.number
		}
		return nothing
	})
}

func (c *client) close()  { c.record(closing, 0, func() any { return c.queue.Close() }) }
func (c *client) closed() { c.record(askingClosed, 0, func() any { return c.queue.Closed() }) }
func (c *client) empty()  { c.record(askingEmpty, 0, func() any { return c.queue.Empty() }) }

func TestQueueIsLinearizable(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	for _, procs := range []int{2, 4} {
		t.Run(fmt.Sprintf("procs=%d", procs), func(t *testing.T) {
			setProcs(t, procs)
			overlaps := 0
			for range rounds {
				history := concurrentHistory()
				overlaps += countOverlaps(history)
				requireLinearizable(t, history)
			}
			t.Logf("%d pairs of overlapping operations", overlaps) // depends on the scheduler, and may be 0
		})
	}
}

// concurrentHistory runs three producers, a consumer, and two closers on a queue. They
// begin together, and yield at random to vary their order. The consumer pops the rest.
func concurrentHistory() []porcupine.Operation {
	const producers, pushes, pops, closers = 3, 20, 60, 2
	q, start := newQueue(), time.Now()
	var clients []*client
	var all sync.WaitGroup
	var ready atomic.Int32
	spawn := func(f func(*client)) *client {
		c := &client{id: len(clients), queue: q, now: func() int64 { return int64(time.Since(start)) }}
		clients = append(clients, c)
		all.Go(func() {
			meet(&ready, producers+1+closers)
			f(c)
		})
		return c
	}
	for p := range producers {
		spawn(func(c *client) {
			for n := range pushes {
				c.push(1 + p*pushes + n)
				yieldOnceIn(16)
			}
		})
	}
	consumer := spawn(func(c *client) {
		for n := range pops {
			if n%4 == 0 {
				c.empty()
			}
			c.pop()
			yieldOnceIn(16)
		}
	})
	for range closers {
		spawn(func(c *client) {
			for range rand.N(100) {
				yieldOnceIn(8)
			}
			c.closed()
			c.close()
			c.closed()
		})
	}
	all.Wait()
	for range producers*pushes + 1 {
		consumer.pop()
	}

	var history []porcupine.Operation
	for _, c := range clients {
		history = append(history, c.history...)
	}
	return history
}

// meet waits until n goroutines have called it.
func meet(here *atomic.Int32, n int32) {
	for here.Add(1); here.Load() < n; {
		runtime.Gosched()
	}
}

func yieldOnceIn(n int) {
	if rand.N(n) == 0 {
		runtime.Gosched()
	}
}

// countOverlaps counts the pairs of concurrent operations of different clients.
func countOverlaps(history []porcupine.Operation) (pairs int) {
	for i, a := range history {
		for _, b := range history[:i] {
			if a.ClientId != b.ClientId && a.Call < b.Return && b.Call < a.Return {
				pairs++
			}
		}
	}
	return pairs
}

func requireLinearizable(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	if result := check(history); result != porcupine.Ok {
		require.Equal(t, porcupine.Ok, result, "\n%s", describe(history))
	}
}
