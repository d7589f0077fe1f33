package hwt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheReadmesProgramsRun runs each of the README's Go snippets, all of which
// are whole programs, and compares what they print with the README.
func TestTheReadmesProgramsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```").FindAllSubmatch(text, -1)
	require.NotEmpty(t, programs)
	assert.Len(t, programs, len(regexp.MustCompile("```go\n").FindAll(text, -1)), "a snippet without its output")
	for _, program := range programs {
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, program[1], 0o600))
		out, err := exec.Command("go", "run", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, string(program[2]), string(out))
	}
}

// TestTheDocumentsLinksLeadSomewhere follows the links to files of the repository.
func TestTheDocumentsLinksLeadSomewhere(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	guides, err := filepath.Glob("docs/migration/*.md")
	require.NoError(t, err)
	roots, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, document := range slices.Concat(documents, guides, roots) {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		text = regexp.MustCompile("(?s)```.*?```").ReplaceAll(text, nil) // where f[K](x) is no link
		for _, link := range regexp.MustCompile(`\]\(([^):#]+)[)#]`).FindAllSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(document), string(link[1])))
			assert.NoError(t, err, "linked in %s", document)
		}
	}
}
