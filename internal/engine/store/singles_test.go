package store

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// singleModel drives a store of singles and a map side by side.
type singleModel struct {
	s     singles
	taken []chunkID
	in    map[chunkID]*Node
}

func (m *singleModel) alloc(t *rapid.T) {
	for range rapid.SampledFrom([]int{1, 7, slabLen}).Draw(t, "n") {
		id, s := m.s.alloc()
		require.True(t, id.isSingle())
		if m.in[id] != nil {
			t.Fatalf("single %d was allocated twice", id)
		}
		*s = single{node: new(Node), bucket: uint32(len(m.taken))}
		m.in[id] = s.node
		m.taken = append(m.taken, id)
	}
}

func (m *singleModel) release(t *rapid.T) {
	for range min(len(m.taken), rapid.SampledFrom([]int{1, 7, slabLen, 5 * slabLen}).Draw(t, "n")) {
		i := rapid.IntRange(0, len(m.taken)-1).Draw(t, "i")
		m.s.release(m.taken[i])
		delete(m.in, m.taken[i])
		m.taken[i] = m.taken[len(m.taken)-1]
		m.taken = m.taken[:len(m.taken)-1]
	}
}

func (m *singleModel) check(t *rapid.T) {
	require.Equal(t, len(m.in), m.s.used)
	for id, timeout := range m.in {
		if m.s.at(id).node != timeout { // much faster than require.Same
			t.Fatalf("single %d is not the one of its timeout", id)
		}
	}
	held := 0
	for n := range m.s.made {
		if m.s.numbered(n).node != nil {
			held++
		}
	}
	require.Equal(t, len(m.in), held, "free singles are nil")
	if held == 0 {
		require.LessOrEqual(t, len(m.s.slabs), 1, "all empty slabs but the first are released")
	}
}

func TestSinglesAreAllocatedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &singleModel{in: map[chunkID]*Node{}}
		t.Repeat(map[string]func(*rapid.T){"alloc": m.alloc, "release": m.release, "": m.check})
	})
}

func TestSinglesAreUsedAgain(t *testing.T) {
	var b Buckets
	b.Grow(1)
	timeout := new(Node)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b.Add(0, timeout, 0)
		b.Remove(timeout)
	}))
	assert.Equal(t, 1, b.singles.made)
}

func TestSecondTimeoutMovesTheFirstToAChunk(t *testing.T) {
	var b Buckets
	b.Grow(1)
	first, second := new(Node), new(Node)
	b.Add(0, first, 7)
	require.True(t, first.chunk.isSingle())
	b.Add(0, second, 7)
	assert.False(t, first.chunk.isSingle())
	assert.Zero(t, b.singles.used)
	taken, _ := b.TakeTagged(0, 7, nil)
	require.Len(t, taken, 2)
	assert.Same(t, first, taken[0], "in the order of adding")
	assert.Same(t, second, taken[1])
}

// bytes returns the allocated memory.
func (b *Buckets) bytes() (n int) {
	for _, s := range b.chunks.slabs {
		n += len(s.chunks) * int(unsafe.Sizeof(chunk{}))
	}
	for _, s := range b.singles.slabs {
		n += len(s) * int(unsafe.Sizeof(single{}))
	}
	return n + cap(b.heads)*int(unsafe.Sizeof(b.heads[0]))
}

func TestFewTimeoutsPerBucketTakeLittleMemory(t *testing.T) {
	const n = 1000
	for buckets, most := range map[int]int{512: 52, 8192: 32} {
		var b Buckets
		b.Grow(buckets)
		empty := b.bytes()
		r := rand.New(rand.NewPCG(1, 2))
		for range n {
			b.Add(uint32(r.IntN(buckets)), new(Node), 0)
		}
		assert.Less(t, (b.bytes()-empty)/n, most, buckets)
	}
}

func TestSinglesAreVisitedAfterTheChunks(t *testing.T) {
	var b Buckets
	b.Grow(slabLen)
	for i := range uint32(slabLen) {
		for range 1 + i%3 { // alone in every third bucket
			b.Add(i, new(Node), 0)
		}
	}
	counts := make([]int, slabLen)
	at := Cursor{}
	for more := true; more; {
		visits := 0
		more = b.Groups(&at, 10, func(g Group) {
			visits++
			counts[g.Bucket] += g.Len
			require.NotNil(t, g.First)
		})
		require.LessOrEqual(t, visits, 10)
	}
	for i, n := range counts {
		require.Equal(t, 1+i%3, n)
	}
}

// The slabs go back to the collector while a pass stands in the last one.
func TestVisitEndsWhenItsSinglesAreReleased(t *testing.T) {
	var b Buckets
	b.Grow(2 * slabLen)
	nodes := make([]Node, slabLen+2*MaxVisit)
	for i := range nodes {
		b.Add(uint32(i), &nodes[i], 0)
	}
	at := Cursor{single: slabLen}
	_, more := b.Visit(&at, func(*Node) {})
	require.True(t, more)
	for i := range nodes {
		b.Remove(&nodes[i])
	}
	_, more = b.Visit(&at, func(*Node) { t.Error("no node is left") })
	assert.False(t, more)
}
