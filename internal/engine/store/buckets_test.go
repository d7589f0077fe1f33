package store

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLayoutFillsSizeClassesOf64BitMachines(t *testing.T) {
	if strconv.IntSize != 64 {
		t.Skip("sizes are those of 64-bit machines")
	}
	assert.EqualValues(t, 128, unsafe.Sizeof(chunk{}), "two cache lines")
	assert.EqualValues(t, 16, unsafe.Sizeof(single{}))
	assert.EqualValues(t, 4, unsafe.Sizeof(Buckets{}.heads[0]), "the engines document the cost of a bucket")
	assert.EqualValues(t, 8, unsafe.Sizeof(Node{}))
}

// tagged is a timeout's place in the model.
type tagged struct {
	bucket uint32
	tag    uint8
}

// bucketModel drives Buckets and a map side by side.
type bucketModel struct {
	b     Buckets
	in    map[*Node]tagged
	added []*Node // in the order of Add, including removed ones
	plain []bool  // by bucket: no timeout was removed since it was empty
	n     int
}

func (m *bucketModel) add(t *rapid.T) {
	i := uint32(rapid.IntRange(0, m.n-1).Draw(t, "bucket"))
	tag := rapid.SampledFrom([]uint8{0, 1, 2, 3, 127, 128, 254, 255}).Draw(t, "tag")
	if m.b.IsEmpty(i) {
		m.plain[i] = true
	}
	for range rapid.IntRange(1, 25).Draw(t, "times") {
		timeout := new(Node)
		m.b.Add(i, timeout, tag)
		m.in[timeout] = tagged{i, tag}
		m.added = append(m.added, timeout)
	}
}

func (m *bucketModel) remove(t *rapid.T) {
	left := slices.Collect(m.b.All)
	if len(left) == 0 {
		t.Skip("empty")
	}
	timeout := rapid.SampledFrom(left).Draw(t, "timeout")
	require.Equal(t, m.in[timeout].bucket, m.b.Remove(timeout))
	require.False(t, timeout.Stored())
	m.plain[m.in[timeout].bucket] = false
	delete(m.in, timeout)
}

func (m *bucketModel) takeTagged(t *rapid.T) {
	i := uint32(rapid.IntRange(0, m.n-1).Draw(t, "bucket"))
	tag := rapid.SampledFrom([]uint8{0, 1, 3, 128, 200, 255}).Draw(t, "tag")
	var want []*Node
	nearest := 0
	for _, timeout := range m.added {
		at, in := m.in[timeout]
		switch {
		case !in || at.bucket != i:
		case at.tag == tag:
			want = append(want, timeout)
			delete(m.in, timeout)
		default:
			if gap := (int(at.tag) - int(tag) + 256) % 256; nearest == 0 || gap < nearest {
				nearest = gap
			}
		}
	}
	before := []*Node{new(Node)}
	got, gap := m.b.TakeTagged(i, tag, before)
	require.Same(t, before[0], got[0], "appends")
	require.EqualValues(t, nearest, gap, "nearest")
	if m.plain[i] {
		require.Equal(t, len(want), len(got)-1)
		for j := range want {
			require.Same(t, want[j], got[j+1], "in the order of adding")
		}
	}
	require.ElementsMatch(t, addresses(want), addresses(got[1:]))
	m.plain[i] = m.plain[i] && len(want) == 0
}

// addresses returns the addresses of timeouts, because ElementsMatch follows pointers.
func addresses(timeouts []*Node) []uintptr {
	var all []uintptr
	for _, t := range timeouts {
		all = append(all, uintptr(unsafe.Pointer(t)))
	}
	return all
}

func (m *bucketModel) check(t *rapid.T) {
	require.Equal(t, len(m.in), m.b.Count())
	all := slices.Collect(m.b.All)
	require.Equal(t, len(m.in), len(all))
	used := make([]bool, m.n)
	for _, timeout := range all {
		at, in := m.in[timeout]
		require.True(t, in)
		held := m.held(timeout)
		require.Equal(t, at.bucket, held.Bucket)
		require.Same(t, timeout, held.First)
		used[at.bucket] = true
	}
	inChunks, inSingles := 0, 0
	for i := range m.n {
		require.Equal(t, used[i], !m.b.IsEmpty(uint32(i)))
		if m.b.heads[i].isSingle() {
			inSingles++
			continue
		}
		for id := m.b.heads[i]; id != 0; {
			c := m.b.chunks.at(id)
			require.Positive(t, c.n, "no empty chunk stays in a bucket")
			require.True(t, id == m.b.heads[i] || c.n == chunkLen, "only the first chunk is partly filled")
			id = c.next
			inChunks += int(c.n)
			for j := range chunkLen {
				require.Equal(t, j < int(c.n), c.nodes[j] != nil, "free entries are nil")
			}
		}
	}
	require.Equal(t, inSingles, m.b.singles.used)
	require.Equal(t, len(m.in), inChunks+inSingles)
}

// held returns the bucket and the timeout stored at a timeout's place.
func (m *bucketModel) held(t *Node) Group {
	if t.chunk.isSingle() {
		s := m.b.singles.at(t.chunk)
		return Group{s.bucket, s.node, 1}
	}
	c := m.b.chunks.at(t.chunk)
	return Group{c.bucket, c.nodes[t.entry], 1}
}

func TestBucketsAreSetsOfTaggedTimeouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &bucketModel{in: map[*Node]tagged{}, n: rapid.IntRange(1, 3).Draw(t, "buckets")}
		m.b.Grow(m.n)
		m.plain = make([]bool, m.n)
		t.Repeat(map[string]func(*rapid.T){"add": m.add, "remove": m.remove, "take": m.takeTagged, "": m.check})
	})
}

func TestTimeoutsOfABucketKnowTheirPlaces(t *testing.T) {
	var b Buckets
	b.Grow(1)
	var in []*Node
	for range 3*chunkLen + 2 {
		in = append(in, new(Node))
		b.Add(0, in[len(in)-1], 0)
	}
	for len(in) > 0 {
		for _, timeout := range in {
			require.Same(t, timeout, b.chunks.at(timeout.chunk).nodes[timeout.entry])
		}
		middle := len(in) / 2
		require.Zero(t, b.Remove(in[middle]))
		in = slices.Delete(in, middle, middle+1)
	}
}

func TestTakeTaggedKeepsTheOrderOfAdding(t *testing.T) {
	var b Buckets
	b.Grow(1)
	var want []*Node
	for i := range 3*chunkLen + 2 {
		timeout := new(Node)
		if b.Add(0, timeout, uint8(i%2)); i%2 == 1 {
			want = append(want, timeout)
		}
	}
	got, gap := b.TakeTagged(0, 1, nil)
	require.EqualValues(t, 255, gap)
	require.Len(t, got, len(want))
	for i := range want {
		require.Same(t, want[i], got[i])
	}
}

func TestAllStopsWhenTheLoopDoes(t *testing.T) {
	var b Buckets
	b.Grow(2)
	for i := range 40 {
		b.Add(uint32(i%2), new(Node), 0)
	}
	seen := map[*Node]bool{}
	for timeout := range b.All {
		if seen[timeout] = true; len(seen) == 25 {
			break
		}
	}
	assert.Len(t, slices.Collect(maps.Keys(seen)), 25)
}
