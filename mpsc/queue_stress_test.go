package mpsc_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/mpsc"
)

// setProcs sets GOMAXPROCS for the length of the test.
func setProcs(t *testing.T, procs int) {
	before := runtime.GOMAXPROCS(procs)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// hammer runs f with one, two, and four processors, and passes it the amount of work.
func hammer(t *testing.T, much, little int, f func(t *testing.T, amount int)) {
	if testing.Short() {
		much = little
	}
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("procs=%d", procs), func(t *testing.T) {
			setProcs(t, procs)
			f(t, much)
		})
	}
}

// ledger checks that the consumer gets the items 0, 1, 2, … of each producer in order.
type ledger []int

func (l ledger) enter(t *testing.T, i *item) {
	if l[i.producer] != i.number {
		require.Equal(t, l[i.producer], i.number, "the next of producer %d", i.producer)
	}
	if i.link.Next() != nil {
		require.Fail(t, "a popped element is still linked")
	}
	l[i.producer]++
}

func (l ledger) total() (n int) {
	for _, of := range l {
		n += of
	}
	return n
}

// consume takes items by a random method.
func (l ledger) consume(t *testing.T, q *mpsc.Queue[item]) {
	switch rand.N(4) {
	case 0:
		if i := q.Pop(); i != nil {
			l.enter(t, i)
		}
	case 1:
		most := rand.N(50)
		n := q.Drain(most, func(i *item) { l.enter(t, i) })
		require.LessOrEqual(t, n, most)
	case 2:
		if !q.Empty() {
			i := q.Pop()
			require.NotNil(t, i, "Pop of a queue that is not empty")
			l.enter(t, i)
		}
	default:
		runtime.Gosched()
	}
}

func TestPushedElementsAreDrainedOnceInOrder(t *testing.T) {
	const producers = 4
	hammer(t, 100_000, 5_000, func(t *testing.T, each int) {
		q := newQueue()
		var all sync.WaitGroup
		for p := range producers {
			all.Go(func() {
				for n := range each {
					if !q.Push(&item{producer: p, number: n}) {
						assert.Fail(t, "a push to an open queue failed")
					}
				}
			})
		}
		seen := make(ledger, producers)
		for seen.total() < producers*each {
			seen.consume(t, q)
		}
		all.Wait()
		assert.Equal(t, ledger{each, each, each, each}, seen)
		assert.True(t, q.Empty())
	})
}

func TestPushAndCloseRaceLosesNoElement(t *testing.T) {
	hammer(t, 1500, 150, func(t *testing.T, rounds int) {
		accepted := 0
		for range rounds {
			accepted += pushUntilClosed(t)
		}
		t.Logf("%d pushes accepted in %d rounds", accepted, rounds)
	})
}

// pushUntilClosed lets producers push until one of two closers closes the queue, at a
// random moment. It returns the number of successful pushes.
func pushUntilClosed(t *testing.T) int {
	const producers, closers = 3, 2
	q := newQueue()
	accepted := make(ledger, producers)
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			late := &item{producer: p}
			for q.Push(late) {
				accepted[p]++
				late = &item{producer: p, number: accepted[p]}
				yieldOnceIn(16) // or on one processor, the backlog would grow without bound
			}
			assert.False(t, q.Push(&item{}), "a push after one that failed")
			assert.Nil(t, late.link.Next(), "a rejected element is linked")
		})
	}
	var first atomic.Int32
	for range closers {
		all.Go(func() {
			for range rand.N(200) {
				yieldOnceIn(8)
			}
			if q.Close() {
				first.Add(1)
			}
			assert.False(t, q.Push(&item{}), "a push after Close")
		})
	}
	seen := make(ledger, producers)
	for !q.Closed() || !q.Empty() {
		seen.consume(t, q)
	}
	assert.Nil(t, q.Pop(), "of a closed and empty queue")
	all.Wait()
	require.True(t, q.Empty(), "a push succeeded after Close")
	require.Equal(t, accepted, seen, "accepted and drained")
	require.EqualValues(t, 1, first.Load(), "closes that were true")
	return seen.total()
}

// The consumer returns each element to its producer, which pushes it again with the same
// link. The same few addresses appear at the head again and again.
func TestElementsCirculate(t *testing.T) {
	const producers, items = 3, 4
	hammer(t, 50_000, 3_000, func(t *testing.T, each int) {
		q := newQueue()
		var back [producers]mpsc.Queue[item]
		var all sync.WaitGroup
		for p := range producers {
			back[p].Init(linkOf)
			for range items {
				back[p].Push(new(item))
			}
			all.Go(func() {
				for n := 0; n < each; {
					if i := back[p].Pop(); i != nil {
						i.producer, i.number = p, n
						q.Push(i)
						n++
						continue
					}
					runtime.Gosched()
				}
			})
		}
		seen := make(ledger, producers)
		for seen.total() < producers*each {
			n := q.Drain(1+rand.N(6), func(i *item) {
				seen.enter(t, i)
				back[i.producer].Push(i)
			})
			if n == 0 {
				runtime.Gosched()
			}
		}
		all.Wait()
		for p := range producers {
			assert.Equal(t, items, back[p].Drain(items+1, func(*item) {}), "items left to producer %d", p)
		}
	})
}

// Each letter is sent when the previous one was received, about when the consumer falls
// asleep. No later letter can make up for a lost wake-up, so the test would hang.
func TestParkedConsumerIsAlwaysWoken(t *testing.T) {
	hammer(t, 100_000, 10_000, func(t *testing.T, letters int) {
		m := newMailbox()
		var received atomic.Int64
		var sender sync.WaitGroup
		sender.Go(func() {
			for n := range letters {
				for spins := 0; int(received.Load()) < n; spins++ {
					if spins > 100 {
						runtime.Gosched()
					}
				}
				for range rand.N(100) { // to meet the consumer at different points
					received.Load()
				}
				m.send(new(letter))
			}
			m.close()
		})
		for m.receive() != nil {
			received.Add(1)
		}
		sender.Wait()
		assert.EqualValues(t, letters, received.Load())
	})
}
