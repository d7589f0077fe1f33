package mpsc_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/mpsc"
)

// FuzzQueueAgainstSlice runs its input as a program on a queue and on a slice. The low four
// bits of a byte select the operation; the high four bits are a count or select an element.
func FuzzQueueAgainstSlice(f *testing.F) {
	for _, program := range []string{
		"",
		"\x00\x00\x02\x02\x02",                 // two in, three out
		"\x00\x00\x02\x00\x02\x02",             // between pops
		"\x50\x33\x33\x33",                     // drained in parts
		"\x30\x03\x43\xf4",                     // drained by none, by all, by less than none
		"\x20\x25\x25\x03",                     // pushed while drained
		"\x10\x06\x10\x02\x02\x02",             // closed with elements
		"\x06\x06\x00\x07\x08",                 // closed twice, then pushed
		"\x70\x13\x06\x25\x73\x07",             // closed when half drained, pushed while drained
		"\x10\x02\x01\x02\x01\x02\x02",         // the same elements again
		"\x30\x02\x02\x01\x11\x06\x02\x01\x73", // again, across a close
		"\x70\x19\x02\x50\x09\x02\x29\xf3",     // pruned, also behind a remainder
		"\x30\x06\x19\x19\xf3",                 // pruned when closed
		"\x3a\x00\x0a\x23\x2a\x06\x2a\xf3",     // batches, also when closed
	} {
		f.Add([]byte(program))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		m := machine{T: t, queue: newQueue()}
		for _, b := range program {
			m.run(b&15%11, int(b>>4))
		}
		m.drain(len(m.model) + 1)
		require.Empty(t, m.model)
		require.True(t, m.queue.Empty())
	})
}

// machine is a queue, a model of its contents, and the elements outside of it.
type machine struct {
	*testing.T
	queue  *mpsc.Queue[item]
	model  []*item
	taken  int // number of elements at the front of model that the consumer has taken over
	free   []*item
	made   int
	closed bool
}

func (m *machine) run(operation byte, n int) {
	switch operation {
	case 0:
		for range n + 1 {
			m.made++
			m.push(&item{number: m.made})
		}
	case 1:
		if n < len(m.free) {
			i := m.free[n]
			m.free = slices.Delete(m.free, n, n+1)
			m.push(i)
		}
	case 2:
		m.pop()
	case 3:
		m.drain(n)
	case 4:
		m.drain(-n)
	case 5:
		m.drainAndPush(n)
	case 6:
		require.Equal(m, !m.closed, m.queue.Close())
		m.closed = true
	case 7:
		require.Equal(m, len(m.model) == 0, m.queue.Empty())
	case 8:
		require.Equal(m, m.closed, m.queue.Closed())
	case 9:
		m.prune(n)
	case 10:
		m.pushAll(n)
	}
}

// prune removes the items with numbers divisible by n+2 among those pushed since the
// queue was last found empty or pruned.
func (m *machine) prune(n int) {
	void := func(i *item) bool { return i.number%(n+2) == 0 }
	m.queue.DeleteFunc(void)
	kept := m.model[:m.taken]
	for _, i := range m.model[m.taken:] {
		if void(i) {
			m.free = append(m.free, i)
		} else {
			kept = append(kept, i)
		}
	}
	m.model, m.taken = kept, len(kept)
}

func (m *machine) push(i *item) {
	require.Equal(m, !m.closed, m.queue.Push(i))
	if m.closed {
		require.Nil(m, i.link.Next())
		m.free = append(m.free, i)
		return
	}
	m.model = append(m.model, i)
}

func (m *machine) pushAll(n int) {
	var all []*item
	for range n {
		m.made++
		all = append(all, &item{number: m.made})
	}
	require.Equal(m, !m.closed, m.queue.PushAll(slices.Values(all)))
	if !m.closed {
		m.model = append(m.model, all...)
		return
	}
	for _, i := range all {
		require.Nil(m, i.link.Next())
	}
	m.free = append(m.free, all...)
}

func (m *machine) pop() {
	i := m.queue.Pop()
	if len(m.model) == 0 {
		require.Nil(m, i)
		return
	}
	m.expect(i)
}

// expect checks that i is the oldest element, which has just left the queue.
func (m *machine) expect(i *item) {
	require.NotEmpty(m, m.model)
	require.Same(m, m.model[0], i)
	require.Nil(m, i.link.Next())
	if m.taken == 0 {
		m.taken = len(m.model) // The consumer takes over all elements when it has none left.
	}
	m.model, m.taken = m.model[1:], m.taken-1
	m.free = append(m.free, i)
}

func (m *machine) drain(n int) {
	want := max(min(n, len(m.model)), 0)
	require.Equal(m, want, m.queue.Drain(n, m.expect))
}

// drainAndPush drains, and pushes meanwhile: every second element again, and a new one for
// each other.
func (m *machine) drainAndPush(n int) {
	before := len(m.model)
	drained := m.queue.Drain(n, func(i *item) {
		m.expect(i)
		if i.number%2 == 0 {
			m.free = m.free[:len(m.free)-1]
			m.push(i)
			return
		}
		m.made++
		m.push(&item{number: m.made})
	})
	switch {
	case m.closed:
		require.Equal(m, min(n, before), drained)
	case before > 0:
		require.Equal(m, n, drained, "elements pushed meanwhile are drained")
	default:
		require.Zero(m, drained)
	}
}
