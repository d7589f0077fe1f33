package mpsc_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClosedQueueRejectsPushes(t *testing.T) {
	q := newQueue()
	require.True(t, q.Close())
	e := &item{number: 1}
	assert.False(t, q.Push(e))
	assert.False(t, q.Push(e))
	assert.Equal(t, &item{number: 1}, e, "its link is unchanged")
	assert.Nil(t, q.Pop())
}

func TestElementsPushedBeforeCloseAreDrained(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3, 4)
	assert.Equal(t, []int{1}, drainAtMost(q, 1), "the consumer has taken over some of them")
	push(t, q, 5, 6)
	require.True(t, q.Close())
	assert.False(t, q.Push(&item{number: 7}))
	assert.Equal(t, []int{2, 3}, drainAtMost(q, 2))
	assert.False(t, q.Push(&item{number: 8}))
	assert.Equal(t, []int{4, 5, 6}, drain(q))
	assert.Nil(t, q.Pop())
	assert.False(t, q.Push(&item{number: 9}), "also once it is drained")
	assert.True(t, q.Closed())
}

func TestCloseReturnsTrueOnce(t *testing.T) {
	q := newQueue()
	assert.False(t, q.Closed())
	assert.True(t, q.Close())
	assert.True(t, q.Closed())
	assert.False(t, q.Close())
	assert.True(t, q.Closed())
}

func TestSecondCloseLosesNothing(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	assert.True(t, q.Close())
	assert.False(t, q.Close())
	assert.Equal(t, 1, q.Pop().number)
	assert.False(t, q.Close())
	assert.Equal(t, []int{2}, drain(q))
	assert.False(t, q.Close(), "also once it is drained")
}

func TestOneOfManyRacingClosesIsTrue(t *testing.T) {
	const closers = 4
	for range 2000 {
		q := newQueue()
		push(t, q, 1, 2)
		var first, ready atomic.Int32
		var all sync.WaitGroup
		for range closers {
			all.Go(func() {
				meet(&ready, closers)
				if q.Close() {
					first.Add(1)
				}
				assert.True(t, q.Closed())
			})
		}
		all.Wait()
		require.EqualValues(t, 1, first.Load())
		require.Equal(t, []int{1, 2}, drain(q))
	}
}

func TestEmptyReportsAnEmptyQueue(t *testing.T) {
	q := newQueue()
	assert.True(t, q.Empty(), "new")
	push(t, q, 1, 2)
	assert.False(t, q.Empty(), "pushed")
	q.Pop()
	assert.False(t, q.Empty(), "one taken and handed out, one taken")
	q.Pop()
	assert.True(t, q.Empty(), "drained")
	push(t, q, 3)
	assert.False(t, q.Empty(), "pushed again")
	q.Pop()
	q.Close()
	assert.True(t, q.Empty(), "closed")
	assert.False(t, q.Push(&item{}))
	assert.True(t, q.Empty(), "closed, and a push rejected")
}

func TestEmptyOfAClosedQueueWithElements(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	q.Pop()
	push(t, q, 3)
	q.Close()
	assert.False(t, q.Empty(), "one taken, one not")
	q.Pop()
	assert.False(t, q.Empty(), "one not taken")
	q.Pop()
	assert.True(t, q.Empty(), "drained")
}

func TestEmptyChangesNothing(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	for n := 1; n <= 3; n++ {
		for range 3 {
			q.Empty()
		}
		assert.Equal(t, n, q.Pop().number)
	}
}
