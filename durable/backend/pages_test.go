package backend_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// sized notes the sizes of pages.
type sized struct {
	backend.Backend
	sizes []int
}

func (s *sized) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	s.sizes = append(s.sizes, n)
	return s.Backend.Page(ctx, prefix, after, n, claimed)
}

func TestPagesBeginSmall(t *testing.T) {
	s := &sized{Backend: memdb.New()}
	var ops []backend.Op
	for i := range 600 {
		ops = append(ops, backend.Op{Row: backend.Row{Key: fmt.Sprintf("%03d", i), Due: 1}})
	}
	_, err := s.Apply(t.Context(), ops)
	require.NoError(t, err)
	n := 0
	for rows, err := range backend.Pages(t.Context(), s, "", false) {
		require.NoError(t, err)
		n += len(rows)
	}
	assert.Equal(t, 600, n)
	assert.Equal(t, []int{16, 32, 64, 128, 256, 500, 500}, s.sizes, "the last page is empty")
}
