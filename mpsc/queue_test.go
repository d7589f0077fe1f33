package mpsc_test

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/mpsc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is the element of the tests. Its links are not its first fields, to detect wrong
// offsets.
type item struct {
	producer, number int

	link  mpsc.Link[item]
	other mpsc.Link[item] // for a second queue
}

func linkOf(i *item) *mpsc.Link[item]      { return &i.link }
func otherLinkOf(i *item) *mpsc.Link[item] { return &i.other }

func newQueue() *mpsc.Queue[item] { return queueOf(linkOf) }

// queueOf returns a queue of elements that link links.
func queueOf[T any](link func(*T) *mpsc.Link[T]) *mpsc.Queue[T] {
	q := new(mpsc.Queue[T])
	q.Init(link)
	return q
}

// push pushes new items with these numbers.
func push(tb testing.TB, q *mpsc.Queue[item], numbers ...int) {
	tb.Helper()
	for _, n := range numbers {
		require.True(tb, q.Push(&item{number: n}), "push %d", n)
	}
}

// drain pops all items and returns their numbers.
func drain(q *mpsc.Queue[item]) []int { return drainAtMost(q, math.MaxInt) }

func drainAtMost(q *mpsc.Queue[item], n int) (numbers []int) {
	q.Drain(n, func(i *item) { numbers = append(numbers, i.number) })
	return numbers
}

func TestPopOfANewQueueIsNil(t *testing.T) {
	assert.Nil(t, newQueue().Pop())
}

func TestElementsArePoppedInTheOrderPushed(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	assert.Equal(t, []int{1, 2, 3}, drain(q))
	assert.Nil(t, q.Pop())
}

func TestElementsPushedBetweenPopsComeLast(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	assert.Equal(t, 1, q.Pop().number)
	push(t, q, 3, 4)
	assert.Equal(t, []int{2, 3, 4}, drain(q))
}

func TestPopReturnsThePushedElement(t *testing.T) {
	q := newQueue()
	e := &item{producer: 7, number: 8}
	require.True(t, q.Push(e))
	assert.Same(t, e, q.Pop())
	assert.Equal(t, &item{producer: 7, number: 8}, e)
}

func TestEachProducersElementsStayInOrder(t *testing.T) {
	const producers, each = 4, 1000
	q := newQueue()
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for n := range each {
				q.Push(&item{producer: p, number: n})
			}
		})
	}
	all.Wait()
	var next [producers]int
	q.Drain(math.MaxInt, func(i *item) {
		assert.Equal(t, next[i.producer], i.number, "of producer %d", i.producer)
		next[i.producer]++
	})
	assert.Equal(t, [producers]int{each, each, each, each}, next)
}

func TestElementCanBePushedAgainOnceItWasPopped(t *testing.T) {
	q := newQueue()
	e := &item{number: 1}
	for range 3 {
		require.True(t, q.Push(e))
		push(t, q, 2)
		assert.Same(t, e, q.Pop())
		require.True(t, q.Push(e))
		assert.Equal(t, []int{2, 1}, drain(q))
	}
}

func TestPushOfNilPanicsAndChangesNothing(t *testing.T) {
	q := newQueue()
	assert.PanicsWithValue(t, "mpsc: Push of nil, or to a Queue without Init", func() { q.Push(nil) })
	push(t, q, 1)
	assert.Equal(t, []int{1}, drain(q), "the queue still works")
}

func TestDrainHandsOutAtMostN(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int
	}{
		{math.MinInt, nil},
		{-1, nil},
		{0, nil},
		{1, []int{1}},
		{2, []int{1, 2}},
		{3, []int{1, 2, 3}},
		{4, []int{1, 2, 3}},
		{math.MaxInt, []int{1, 2, 3}},
	} {
		q := newQueue()
		push(t, q, 1, 2, 3)
		var got []int
		n := q.Drain(c.n, func(i *item) { got = append(got, i.number) })
		assert.Equal(t, c.want, got, "Drain(%d)", c.n)
		assert.Len(t, c.want, n, "Drain(%d)", c.n)
		assert.Equal(t, []int{1, 2, 3}[n:], append([]int{}, drain(q)...), "after Drain(%d)", c.n)
	}
}

func TestDrainIncludesElementsPushedMeanwhile(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	var got []int
	n := q.Drain(5, func(i *item) {
		got = append(got, i.number)
		push(t, q, i.number*10)
	})
	assert.Equal(t, 5, n)
	assert.Equal(t, []int{1, 2, 10, 20, 100}, got)
	assert.Equal(t, []int{200, 1000}, drain(q))
}

func TestDrainsFunctionMayPushItsElementAgain(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	var got []int
	q.Drain(5, func(i *item) {
		got = append(got, i.number)
		q.Push(i)
	})
	assert.Equal(t, []int{1, 2, 1, 2, 1}, got)
	assert.Equal(t, []int{2, 1}, drain(q))
}

func TestDrainsFunctionMayPopAndClose(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	n := q.Drain(10, func(i *item) {
		q.Close()
		if i.number == 1 {
			assert.Equal(t, 2, q.Pop().number)
		}
	})
	assert.Equal(t, 2, n, "elements that the function pops do not count")
	assert.True(t, q.Empty())
	assert.True(t, q.Closed())
}

func TestPanicInDrainLosesNoLaterElement(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	boom := errors.New("boom")
	assert.PanicsWithValue(t, boom, func() {
		q.Drain(3, func(i *item) {
			if i.number == 2 {
				panic(boom)
			}
		})
	})
	assert.Equal(t, []int{3}, drain(q))
}

// kept reports whether the element is reachable, by a garbage collection.
func kept(e weak.Pointer[item]) bool {
	runtime.GC()
	return e.Value() != nil
}

func TestPoppedElementKeepsNoOtherReachable(t *testing.T) {
	for _, closed := range []bool{false, true} {
		q := newQueue()
		push(t, q, 1, 2, 3)
		if closed {
			q.Close()
		}
		first := q.Pop()
		second := weak.Make(q.Pop())
		assert.False(t, kept(second), "the second, closed=%t", closed)
		third := weak.Make(q.Pop())
		assert.False(t, kept(third), "the third, closed=%t", closed)
		runtime.KeepAlive(first)
		runtime.KeepAlive(q)
	}
}

func TestQueueKeepsNoRemovedElementReachable(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2)
	first := weak.Make(q.Pop())
	assert.False(t, kept(first))
	second := q.Pop()
	require.True(t, q.Push(second))
	again := weak.Make(second)
	assert.True(t, kept(again), "pushed again")
	q.Close()
	assert.True(t, kept(again), "below the mark")
	q.Pop()
	assert.False(t, kept(again))
	runtime.KeepAlive(q)
}

func TestDeleteFuncRemovesAndKeepsTheOrder(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3, 4, 5, 6)
	q.DeleteFunc(func(i *item) bool { return i.number%3 == 0 })
	assert.Equal(t, []int{1, 2, 4, 5}, drain(q))
}

func TestDeleteFuncExaminesEachElementOnce(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	assert.Equal(t, 1, q.Pop().number)
	push(t, q, 4, 5)
	var seen []int
	q.DeleteFunc(func(i *item) bool {
		seen = append(seen, i.number)
		return i.number == 4
	})
	assert.ElementsMatch(t, []int{4, 5}, seen, "2 and 3 were taken with 1")
	assert.Equal(t, []int{2, 3, 5}, drain(q))
	assert.True(t, q.Empty())
}

func TestDeletedElementCanBePushedAgain(t *testing.T) {
	for _, before := range []int{0, 1} { // later elements are linked to earlier ones
		q := newQueue()
		e := &item{number: 1}
		push(t, q, []int{2, 3}[:before]...)
		require.True(t, q.Push(e))
		push(t, q, []int{2, 3}[before:]...)
		q.DeleteFunc(func(i *item) bool { return i == e })
		assert.Nil(t, e.link.Next(), "a pruned element keeps no other, %d before it", before)
		require.True(t, q.Push(e))
		assert.Equal(t, []int{2, 3, 1}, drain(q))
	}
}

func TestDeleteFuncOnAClosedQueue(t *testing.T) {
	q := newQueue()
	push(t, q, 1, 2, 3)
	q.Close()
	q.DeleteFunc(func(i *item) bool { return i.number == 2 })
	assert.Equal(t, []int{1, 3}, drain(q))
	assert.True(t, q.Closed())
}

func TestPushToAQueueWithoutInitPanics(t *testing.T) {
	var q mpsc.Queue[item]
	e := &item{number: 7}
	assert.Panics(t, func() { q.Push(e) })
	assert.Equal(t, 7, e.number)
}
