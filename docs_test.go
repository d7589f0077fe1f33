package hwt_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files returns the contents of the repository's files with an extension, by path.
func files(t *testing.T, extension string) map[string]string {
	texts := make(map[string]string)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, extension) {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}))
	return texts
}

func TestDocumentsNameExistingTests(t *testing.T) {
	exists := make(map[string]bool)
	for _, text := range files(t, ".go") {
		for _, match := range regexp.MustCompile(`func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`).FindAllStringSubmatch(text, -1) {
			exists[match[1]] = true
		}
	}
	require.True(t, exists["TestDocumentsNameExistingTests"])
	for _, path := range []string{"docs/design.md", "docs/reliability.md", "docs/model/README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`").FindAllStringSubmatch(string(text), -1) {
			assert.True(t, exists[match[1]], "%s names %s", path, match[1])
		}
	}
}

func TestDocumentsLinkToExistingFiles(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	fence := regexp.MustCompile("(?s)```.*?```") // f[K](x) in code is no link
	for path, text := range files(t, ".md") {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), match[1]))
			assert.NoError(t, err, "%s links to %s", path, match[1])
		}
	}
}
