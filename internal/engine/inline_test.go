package engine

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every push calls attend and pace, which mostly do nothing.
func TestAttendAndPaceAreInlined(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, call := range []string{"handle.go", "cancel.go"} {
		for _, f := range []string{"attend", "pace"} {
			assert.Regexp(t, `(?m)^.*`+call+`:.*: inlining call to \(\*Core\)\.`+f+`$`, string(out))
		}
	}
}
