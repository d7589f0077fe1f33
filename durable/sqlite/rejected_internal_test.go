package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// The outcomes of a try keep their room, so that others cannot take it.
func TestRejectedOutcomesKeepTheirRoom(t *testing.T) {
	r := &rejections{}
	some := func(n int) []backend.Outcome { return make([]backend.Outcome, n) }
	require.True(t, r.keep(1, some(600)))
	require.Len(t, r.take()[1], 600)
	require.False(t, r.keep(2, some(500)))
	require.True(t, r.keep(2, some(400)))
	r.putBack(1, some(600), 600)
	require.Len(t, r.all[1], 600)
	require.Len(t, r.take()[2], 400)
	r.putBack(1, nil, 600)
	r.putBack(2, some(100), 400)
	require.Equal(t, 100, r.n)
	require.True(t, r.keep(1, some(900)))
}
