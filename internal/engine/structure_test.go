package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/structure"
)

func TestFilesKeepTheirOrder(t *testing.T) { structure.Load(t).CheckOrder(3) }

func TestNoFieldIsWrittenOutsideItsOwner(t *testing.T) {
	assert.Greater(t, structure.Load(t).CheckFields(), 100, "writes that were checked")
}
