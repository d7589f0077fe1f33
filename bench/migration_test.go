package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	_ "github.com/patrickmn/go-cache" // A snippet uses it.
	"github.com/stretchr/testify/require"
)

// TestSnippetsOfMigrationPagesCompile builds each Go snippet of docs/migration as a
// package of this module, which requires the libraries that they replace. It also builds the program
// with which examples/README.md compares an example.
func TestSnippetsOfMigrationPagesCompile(t *testing.T) {
	pages, err := filepath.Glob("../docs/migration/*.md")
	require.NoError(t, err)
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	temp := t.TempDir()
	overlay := map[string]string{ // from the path that the go command sees to the file
		filepath.Join(here, "snippets", "tenants", "main.go"): filepath.Join(here, "../examples/tenants/testdata/river.go.txt"),
	}
	packages := []string{"./snippets/tenants"}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, snippet := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1) {
			name := fmt.Sprintf("%s%d", filepath.Base(page), i+1)
			file := filepath.Join(temp, name+".go")
			require.NoError(t, os.WriteFile(file, snippet[1], 0o600))
			overlay[filepath.Join(here, "snippets", name, "snippet.go")] = file
			packages = append(packages, "./snippets/"+name)
			formatted, err := exec.Command("gofmt", "-l", file).CombinedOutput()
			require.NoError(t, err)
			require.Empty(t, string(formatted), "%s is not formatted", name)
		}
	}
	require.Greater(t, len(packages), len(pages)/2)
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	overlayFile := filepath.Join(temp, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, list, 0o600))
	out, err := exec.Command("go", append([]string{"build", "-overlay", overlayFile}, packages...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
