package durable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQueueThatIsNeverEmptyStaysSmall(t *testing.T) {
	q := newQueue()
	q.put(&held{})
	for range 10_000 {
		h := &held{}
		q.put(h)
		q.get()
		require.LessOrEqual(t, cap(q.items), 64)
	}
	require.Equal(t, 1, q.len())
}
