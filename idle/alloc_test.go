package idle_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/idle"
)

func TestTouchAllocatesNothing(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	w := r.Watch(newThing())
	client, server := tcpPair(t)
	defer client.Close()
	defer server.Close()
	c := r.Wrap(server)
	p := make([]byte, 1)
	assert.Zero(t, testing.AllocsPerRun(1000, w.Touch))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		client.Write(p)
		c.Read(p)
		c.Write(p)
		client.Read(p)
	}))
}

func TestWatchIsOneAllocation(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	c := newThing()
	r.Watch(c)
	assert.LessOrEqual(t, testing.AllocsPerRun(10_000, func() { r.Watch(c) }), 1.1)
}

func TestHoldMakesTwoAllocations(t *testing.T) {
	w := newReaper(t, newTimer(t, second), time.Hour).Watch(newThing())
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { w.Hold()() }), 2.0)
}

func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("for 64-bit machines")
	}
	assert.EqualValues(t, 64, idle.SizeOfWatch)
	assert.LessOrEqual(t, int(idle.SizeOfTCP), 96, "a size class of the allocator")
	assert.GreaterOrEqual(t, int(idle.GapInShard), 128, "two cache lines")
	assert.GreaterOrEqual(t, int(idle.GapToNext), 128, "two cache lines")
	assert.LessOrEqual(t, int(idle.SizeOfGroup), 576, "a size class of the allocator")
}
