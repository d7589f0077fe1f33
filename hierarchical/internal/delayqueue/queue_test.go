package delayqueue

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type item = Item[int]

// fill returns a queue with an item for each due time.
func fill(dues ...int64) *Queue[int] {
	q := New[int]()
	for i, due := range dues {
		q.Put(&item{Value: i}, due)
	}
	return q
}

func TestEmptyQueueGivesNothingAndDoesNotBlock(t *testing.T) {
	q := New[int]()
	for range 2 {
		assert.Nil(t, q.Take(math.MaxInt64))
		assert.Nil(t, q.Head())
		assert.Equal(t, int64(Never), q.Next())
		assert.Zero(t, q.Len())
		q.Put(&item{}, 1)
		require.NotNil(t, q.Take(1)) // empty again
	}
}

func TestNothingIsTakenBeforeItIsDue(t *testing.T) {
	q := fill(10, 5, 20)
	assert.Nil(t, q.Take(4))
	assert.Equal(t, 3, q.Len())
	assert.Equal(t, 1, q.Take(5).Value)
	assert.Nil(t, q.Take(9))
	assert.Equal(t, int64(10), q.Next())
	assert.Equal(t, 0, q.Take(math.MaxInt64).Value)
	assert.Equal(t, 2, q.Take(math.MaxInt64).Value)
}

func TestWaitingItemStaysWhereItIs(t *testing.T) {
	q, i := New[int](), new(item)
	require.True(t, q.Put(i, 10))
	assert.False(t, q.Put(i, 5), "already queued")
	assert.Equal(t, int64(10), i.due)
	assert.Equal(t, 1, q.Len())
	assert.Nil(t, q.Take(9))
}

func TestTakenItemCanWaitAgain(t *testing.T) {
	q, i := New[int](), new(item)
	for due := range int64(10) {
		require.True(t, q.Put(i, due))
		require.Same(t, i, q.Head())
		require.Same(t, i, q.Take(due))
	}
}

func TestEarlierItemBecomesTheHead(t *testing.T) {
	q := fill(10)
	q.Put(&item{Value: 7}, 3)
	assert.Equal(t, int64(3), q.Next())
	assert.Equal(t, 7, q.Head().Value)
}

func TestExtremeTimes(t *testing.T) {
	q := fill(math.MaxInt64, math.MinInt64, 0)
	assert.Equal(t, int64(math.MinInt64), q.Take(math.MinInt64).due)
	assert.Nil(t, q.Take(-1))
	assert.Equal(t, int64(0), q.Take(math.MaxInt64).due)
	assert.Equal(t, int64(math.MaxInt64), q.Take(math.MaxInt64).due)
}

// TestQueueIsASortedSlice compares random operations on both.
func TestQueueIsASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New[int]()
		items := make([]item, 50)
		var model []*item
		byDue := func(a, b *item) int { return cmp.Compare(a.due, b.due) }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				i := &items[rapid.IntRange(0, len(items)-1).Draw(t, "item")]
				due := rapid.Int64Range(0, 30).Draw(t, "due")
				put := q.Put(i, due)
				require.Equal(t, !slices.Contains(model, i), put)
				if put {
					model = append(model, i)
					slices.SortStableFunc(model, byDue)
				}
			},
			"take": func(t *rapid.T) {
				now := rapid.Int64Range(-1, 31).Draw(t, "now")
				i := q.Take(now)
				if len(model) == 0 || model[0].due > now {
					require.Nil(t, i)
					return
				}
				require.NotNil(t, i)
				require.Equal(t, model[0].due, i.due)
				model = slices.DeleteFunc(model, func(m *item) bool { return m == i })
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), q.Len())
				next := int64(Never)
				if len(model) > 0 {
					next = model[0].due
				}
				require.Equal(t, next, q.Next())
			},
		})
	})
}

// The only allocation is the slice in which the heap returns an item.
func TestAllocations(t *testing.T) {
	q := fill(make([]int64, 1000)...)
	i := new(item)
	assert.Equal(t, 1.0, testing.AllocsPerRun(1000, func() {
		q.Put(i, -1)
		q.Next()
		q.Take(-1)
	}))
}

func BenchmarkPutTake(b *testing.B) {
	for name, n := range map[string]int{"waiting=100": 100, "waiting=1e5": 100_000} {
		b.Run(name, func(b *testing.B) {
			q := New[int]()
			items := make([]item, n)
			for i := range items {
				q.Put(&items[i], int64(i)*7919%int64(n))
			}
			b.ReportAllocs()
			for b.Loop() {
				i := q.Take(math.MaxInt64)
				q.Put(i, i.due+int64(n))
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	q := fill(3, 1, 2)
	for b.Loop() {
		q.Next()
	}
}
