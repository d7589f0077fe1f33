package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chunkModel drives a store of chunks and a set side by side.
type chunkModel struct {
	s     chunks
	taken []chunkID
	in    map[chunkID]bool
}

func (m *chunkModel) alloc(t *rapid.T) {
	for range rapid.SampledFrom([]int{1, 7, slabLen, 3 * slabLen}).Draw(t, "n") {
		id, c := m.s.alloc()
		if id == 0 || m.in[id] || c != m.s.at(id) || c.n != 0 || c.nodes != [chunkLen]*Node{} {
			t.Fatalf("allocated chunk %d, %v: in use, or not empty", id, *c)
		}
		c.next, c.bucket = id, uint32(id) // as a bucket does
		m.in[id] = true
		m.taken = append(m.taken, id)
	}
}

func (m *chunkModel) free(t *rapid.T) {
	if len(m.taken) == 0 {
		t.Skip("none")
	}
	from := rapid.IntRange(0, len(m.taken)-1).Draw(t, "from")
	to := min(len(m.taken), from+rapid.SampledFrom([]int{1, 7, slabLen, 3 * slabLen}).Draw(t, "n"))
	for _, id := range m.taken[from:to] {
		m.s.free(id)
		delete(m.in, id)
	}
	m.taken = append(m.taken[:from:from], m.taken[to:]...)
}

func (m *chunkModel) check(t *rapid.T) {
	used := make([]int, len(m.s.slabs))
	for id := range m.in {
		used[int(id-1)/slabLen]++
	}
	idle := 0
	for i, sl := range m.s.slabs {
		require.EqualValues(t, used[i], sl.used)
		require.Equal(t, sl.used < slabLen, m.s.open[i/64]>>(i%64)&1 == 1, "open")
		if sl.used == 0 && sl.chunks != nil {
			idle++
			require.Equal(t, i+1, m.s.idle)
		}
	}
	require.Equal(t, min(m.s.idle, 1), idle, "all empty slabs but one are released")
	for i := range m.s.lowest {
		require.Zero(t, m.s.open[i])
	}
}

func TestChunksAreAllocatedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &chunkModel{in: map[chunkID]bool{}}
		t.Repeat(map[string]func(*rapid.T){"alloc": m.alloc, "free": m.free, "": m.check})
	})
}

func TestFirstFreeChunkIsAllocated(t *testing.T) {
	var s chunks
	for range 65 * slabLen {
		s.alloc()
	}
	s.free(64*slabLen + 3)
	s.free(2*slabLen + 5)
	for _, want := range []chunkID{2*slabLen + 5, 64*slabLen + 3, 65*slabLen + 1} {
		id, _ := s.alloc()
		assert.Equal(t, want, id)
	}
}

func TestFirstSlabGrowsWithItsContents(t *testing.T) {
	var s chunks
	timeouts := make([]*Node, slabLen+1)
	for i := range timeouts {
		timeouts[i] = new(Node)
		_, c := s.alloc()
		c.nodes[0] = timeouts[i]
		assert.LessOrEqual(t, len(s.slabs[0].chunks), i+max(8, i/4))
	}
	assert.Len(t, s.slabs[0].chunks, slabLen)
	assert.Len(t, s.slabs[1].chunks, slabLen)
	for i := range timeouts {
		assert.Same(t, timeouts[i], s.at(chunkID(i + 1)).nodes[0])
	}
}

func TestFirstEmptySlabIsKept(t *testing.T) {
	var s chunks
	for range 3 * slabLen {
		s.alloc()
	}
	empty := func(slab int) {
		for i := range slabLen {
			s.free(chunkID(slab*slabLen + i + 1))
		}
	}
	empty(1)
	empty(2)
	require.NotEmpty(t, s.slabs[1].chunks)
	require.Empty(t, s.slabs[2].chunks)
	empty(0)
	require.NotEmpty(t, s.slabs[0].chunks)
	require.Empty(t, s.slabs[1].chunks)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		id, _ := s.alloc()
		s.free(id)
	}), "a lone chunk reuses the slab")
}

func TestGroupsVisitsEachChunkInUseInBoundedSteps(t *testing.T) {
	var b Buckets
	for range 3*slabLen + 5 {
		_, c := b.chunks.alloc()
		c.n, c.nodes[0] = 1, new(Node)
	}
	for id := chunkID(slabLen + 1); id <= 2*slabLen; id++ { // a whole slab, which is released or kept
		b.chunks.at(id).n = 0
		b.chunks.free(id)
	}
	b.Grow(200)
	for i := range uint32(200) {
		b.Add(i, new(Node), 0)
	}
	seen, at := 0, Cursor{}
	for more := true; more; {
		visits := 0
		more = b.Groups(&at, 100, func(Group) { visits++ })
		require.LessOrEqual(t, visits, 100)
		seen += visits
	}
	assert.Equal(t, 2*slabLen+5+200, seen)
}
