package mpsc_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/mpsc"
)

func TestPushAndPopAllocateNothing(t *testing.T) {
	q := newQueue()
	items := make([]item, 100)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range items {
			q.Push(&items[i])
		}
		for range items {
			q.Pop()
		}
	}))
}

func TestDrainAllocatesNothing(t *testing.T) {
	q := newQueue()
	items := make([]item, 100)
	drained := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range items {
			q.Push(&items[i])
		}
		q.Drain(len(items), func(*item) { drained++ })
	}))
	assert.Equal(t, 101*len(items), drained)
}

func TestCloseAllocatesNothing(t *testing.T) {
	queues := make([]mpsc.Queue[item], 101)
	for i := range queues {
		queues[i].Init(linkOf)
	}
	late := new(item)
	next := 0
	assert.Zero(t, testing.AllocsPerRun(len(queues)-1, func() {
		queues[next].Close()
		queues[next].Push(late)
		next++
	}))
}

func TestLinkIsOneWord(t *testing.T) {
	assert.Equal(t, unsafe.Sizeof(uintptr(0)), unsafe.Sizeof(mpsc.Link[item]{}))
}

// The consumer's fields must share a cache line neither with head nor with data after the
// queue, at any address of the queue.
func TestProducersAndConsumerDoNotShareCacheLines(t *testing.T) {
	l := mpsc.LayoutOf[item]()
	assert.Less(t, l.PushLink, l.Head)
	assert.GreaterOrEqual(t, l.TakeLink-l.Head, uintptr(mpsc.FalseSharing))
	assert.GreaterOrEqual(t, l.Oldest-l.Head, uintptr(mpsc.FalseSharing))
	assert.GreaterOrEqual(t, l.Size-l.EndOfFields, uintptr(mpsc.FalseSharing))
	assert.Equal(t, 128, mpsc.FalseSharing)
}

func TestQueueTakesThreeHundredBytesAndAnElement(t *testing.T) {
	type bare struct{ mpsc.Link[bare] }
	want := map[uintptr]uintptr{4: 280, 8: 296}[unsafe.Sizeof(uintptr(0))]
	assert.Equal(t, want+unsafe.Sizeof(bare{}), mpsc.LayoutOf[bare]().Size)
	assert.Equal(t, want+unsafe.Sizeof(item{}), mpsc.LayoutOf[item]().Size)
}
