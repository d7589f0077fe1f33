package sqlite_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program links what it uses: an HTTP server adds megabytes.
func TestStoreLinksNoServerAndNoCaches(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "github.com/hashedwheel/hwt/durable")
	for _, unused := range []string{"net/http", "github.com/hashedwheel/hwt/cache", "github.com/hashedwheel/hwt/idle",
		"github.com/hashedwheel/hwt/keyed", "github.com/hashedwheel/hwt/inspect", "github.com/hashedwheel/hwt/metrics"} {
		require.NotContains(t, linked, unused)
	}
}
