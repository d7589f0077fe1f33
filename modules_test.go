package hwt_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryModuleNeedsTheReadmesRelease(t *testing.T) {
	sentence := regexp.MustCompile(`requires Go (1\.\d+)\.`).FindStringSubmatch(files(t, "README.md")["README.md"])
	require.NotNil(t, sentence)
	for path, text := range files(t, "go.mod") {
		assert.Contains(t, text, "\ngo "+sentence[1]+".0\n", path)
	}
}

// Users' builds select the version of each module independently. A module that imports
// internal packages of another one may not compile there. Tests are no part of these builds.
func TestModulesImportNoInternalPackagesOfOthers(t *testing.T) {
	const root = "github.com/hashedwheel/hwt/"
	exempt := map[string]bool{"bench": true, "tools": true} // a command, which no module imports
	modules := files(t, "go.mod")
	moduleOf := func(dir string) string {
		for ; ; dir = filepath.Dir(dir) {
			if _, ok := modules[filepath.Join(dir, "go.mod")]; ok || dir == "." {
				return dir
			}
		}
	}
	require.Equal(t, "metrics/hwtprom", moduleOf("metrics/hwtprom"))
	for path, text := range files(t, ".go") {
		module := moduleOf(filepath.Dir(path))
		if module == "." || exempt[module] || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if dir, ok := strings.CutPrefix(imported, root); ok && strings.Contains("/"+dir+"/", "/internal/") {
				assert.Equal(t, module, moduleOf(dir), "%s imports %s", path, imported)
			}
		}
	}
}
