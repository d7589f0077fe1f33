package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPeekFindsFewOrGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		own, others int // nodes tagged 3, and 4
		ok          bool
	}{
		"empty":           {0, 0, true},
		"single":          {1, 0, true},
		"other single":    {0, 1, true},
		"at the limit":    {8, 0, true},
		"above the limit": {9, 0, false},
		"among others":    {8, maxPeeked*chunkLen - 8, true},
		"among too many":  {8, maxPeeked * chunkLen, false},
	} {
		t.Run(name, func(t *testing.T) {
			var b Buckets
			b.Grow(2)
			want := map[*Node]bool{}
			for i := range c.own + c.others {
				n, tag := new(Node), uint8(4)
				if i >= c.others {
					tag, want[n] = 3, true
				}
				b.Add(1, n, tag)
			}
			first := new(Node)
			nodes, ok := b.Peek(1, 3, 8, []*Node{first})
			assert.Equal(t, c.ok, ok)
			assert.Same(t, first, nodes[0], "it appends")
			if ok {
				assert.Len(t, nodes, 1+c.own)
				for _, n := range nodes[1:] {
					assert.True(t, want[n])
				}
			}
			assert.Equal(t, c.own+c.others, b.Count())
		})
	}
}
