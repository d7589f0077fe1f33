package hwttest

import (
	"go/build"
	"strings"
	"testing"
)

// The package must not add dependencies to programs that import it.
func TestImportsAreOfTheStandardLibrary(t *testing.T) {
	const module = "github.com/hashedwheel/hwt"
	for _, dir := range []string{".", "..", "../internal/enginetest", "../internal/histogram"} {
		pkg, err := build.ImportDir(dir, 0)
		require.NoError(t, err)
		for _, path := range pkg.Imports {
			first, _, _ := strings.Cut(path, "/")
			switch path {
			case module, module + "/internal/enginetest", module + "/internal/histogram":
			default:
				assert.False(t, strings.Contains(first, "."), "%s imports %s", dir, path)
			}
		}
	}
}
