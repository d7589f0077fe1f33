package postgres

import (
	"testing"

	"github.com/hashedwheel/hwt/internal/structure"
)

func TestOwnersAndFilesKeepTheirOrder(t *testing.T) { structure.Check(t, 0) }
