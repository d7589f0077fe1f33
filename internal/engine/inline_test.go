package engine

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every push calls attend and pace, which mostly do nothing.
func TestAttendAndPaceAreInlined(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	if strconv.IntSize == 32 {
		t.Skip("64-bit atomics are calls, which cost more than inlining allows")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, call := range []string{"handle.go", "cancel.go"} {
		for _, f := range []string{"attend", "pace"} {
			assert.Regexp(t, `(?m)^.*`+call+`:.*: inlining call to \(\*Core\)\.`+f+`$`, string(out))
		}
	}
}
