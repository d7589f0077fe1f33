package mpsc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/mpsc"
)

func TestElementWithTwoLinksCanBeInTwoQueues(t *testing.T) {
	forth, back := newQueue(), queueOf(otherLinkOf)
	items := make([]*item, 5)
	for i := range items {
		items[i] = &item{number: i}
	}
	for i := range items {
		require.True(t, forth.Push(items[i]))
		require.True(t, back.Push(items[len(items)-1-i]))
	}
	assert.Equal(t, 0, forth.Pop().number)
	assert.Equal(t, 4, back.Pop().number)
	assert.Equal(t, []int{1, 2, 3, 4}, drain(forth))
	assert.Equal(t, []int{3, 2, 1, 0}, drain(back))
}

func TestElementMayBeABareLinkOrALargeStruct(t *testing.T) {
	type bare struct{ mpsc.Link[bare] }
	q := queueOf(func(b *bare) *mpsc.Link[bare] { return &b.Link })
	e := new(bare)
	require.True(t, q.Push(e))
	assert.Same(t, e, q.Pop())

	type heavy struct {
		load [10_000]byte
		next mpsc.Link[heavy]
	}
	r := queueOf(func(h *heavy) *mpsc.Link[heavy] { return &h.next })
	h := new(heavy)
	require.True(t, r.Push(h))
	r.Close()
	assert.Same(t, h, r.Pop())
	assert.Zero(t, h.load, "other fields are unchanged")
	assert.Panics(t, func() { r.Push(nil) })
}

func TestInitPreparesAnEmbeddedQueue(t *testing.T) {
	var owner struct {
		name string
		q    mpsc.Queue[item]
	}
	owner.q.Init(otherLinkOf)
	push(t, &owner.q, 1, 2)
	assert.Equal(t, []int{1, 2}, drain(&owner.q))
}

func TestInitPanicsOnALinkOutsideTheElement(t *testing.T) {
	type node struct {
		elsewhere *mpsc.Link[node]
		next      mpsc.Link[node]
	}
	stranger := new(node)
	for name, link := range map[string]func(*node) *mpsc.Link[node]{
		"nil":                       func(*node) *mpsc.Link[node] { return nil },
		"of another element":        func(*node) *mpsc.Link[node] { return &stranger.next },
		"new":                       func(*node) *mpsc.Link[node] { return new(mpsc.Link[node]) },
		"to which a field points":   func(n *node) *mpsc.Link[node] { return n.elsewhere },
		"of a copy of the element":  func(n *node) *mpsc.Link[node] { c := *n; return &c.next },
		"in an array of the others": func(*node) *mpsc.Link[node] { return &make([]node, 3)[1].next },
	} {
		t.Run(name, func(t *testing.T) {
			assert.Panics(t, func() { queueOf(link) })
		})
	}
}

func TestInitsPanicNamesTheElement(t *testing.T) {
	assert.PanicsWithValue(t,
		"mpsc: link must return the address of a field of its argument, a mpsc_test.item",
		func() { queueOf(func(*item) *mpsc.Link[item] { return nil }) })
}
