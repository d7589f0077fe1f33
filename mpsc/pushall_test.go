package mpsc_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbered(numbers ...int) (all []*item) {
	for _, n := range numbers {
		all = append(all, &item{number: n})
	}
	return all
}

func TestPushAllKeepsTheOrder(t *testing.T) {
	q := newQueue()
	push(t, q, 1)
	assert.True(t, q.PushAll(slices.Values(numbered(2, 3, 4))))
	assert.True(t, q.PushAll(slices.Values(numbered())))
	push(t, q, 5)
	assert.True(t, q.PushAll(slices.Values(numbered(6))))
	assert.Equal(t, []int{1, 2}, drainAtMost(q, 2))
	assert.True(t, q.PushAll(slices.Values(numbered(7, 8))))
	assert.Equal(t, []int{3, 4, 5, 6, 7, 8}, drain(q))
}

func TestPushAllToAClosedQueueLinksNoElement(t *testing.T) {
	q := newQueue()
	push(t, q, 1)
	q.Close()
	all := numbered(2, 3, 4)
	assert.False(t, q.PushAll(slices.Values(all)))
	assert.False(t, q.PushAll(slices.Values(numbered())))
	assert.Equal(t, numbered(2, 3, 4), all)
	other := newQueue()
	require.True(t, other.PushAll(slices.Values(all)), "they are in no queue")
	assert.Equal(t, []int{2, 3, 4}, drain(other))
	assert.Equal(t, []int{1}, drain(q))
}

func TestPushAllOfNilOrOfOneTwicePanics(t *testing.T) {
	e := new(item)
	assert.Panics(t, func() { newQueue().PushAll(slices.Values([]*item{e, nil})) })
	assert.Panics(t, func() { newQueue().PushAll(slices.Values([]*item{e, e})) })
}

func TestPushAllIsAtomic(t *testing.T) {
	for range 300 {
		q := newQueue()
		var done sync.WaitGroup
		accepted := make([]bool, 3)
		for p := range accepted {
			done.Go(func() {
				batch := numbered(10*p, 10*p+1, 10*p+2)
				accepted[p] = q.PushAll(slices.Values(batch))
			})
		}
		done.Go(func() { q.Close() })
		done.Wait()
		got := drain(q)
		for p, ok := range accepted {
			i := slices.Index(got, 10*p)
			require.Equal(t, ok, i >= 0)
			if ok {
				require.Equal(t, []int{10 * p, 10*p + 1, 10*p + 2}, got[i:i+3], "nothing comes between")
			}
		}
	}
}
