package engine

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every push calls both, which mostly do nothing.
func TestChecksAfterAPushAreInlined(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	if strconv.IntSize == 32 {
		t.Skip("64-bit atomics are calls, which cost more than inlining allows")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range []string{"ensureDrained", "assistAt"} {
		assert.Regexp(t, `(?m)^.*handle\.go:.*: inlining call to \(\*Core\)\.`+f+`$`, string(out))
	}
}
