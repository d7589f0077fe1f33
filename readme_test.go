package hwt_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeProgramsRun runs the README's Go snippets, which are whole programs, and
// compares their output with the README.
func TestReadmeProgramsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```").FindAllSubmatch(text, -1)
	require.NotEmpty(t, programs)
	assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), 110, "lines")
	assert.Len(t, programs, len(regexp.MustCompile("```go\n").FindAll(text, -1)), "a snippet without its output")
	for _, program := range programs {
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, program[1], 0o600))
		out, err := exec.Command("go", "run", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, string(program[2]), string(out))
	}
}

// The gate's step coverage reads the number from this sentence.
func TestReadmeStatesTheCoverage(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Regexp(t, `which reach \d+ % of the statements`, string(text))
}
