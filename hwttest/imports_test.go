package hwttest

import (
	"go/build"
	"slices"
	"strings"
	"testing"
)

// The package must not add dependencies to programs that import it.
func TestImportsAreOfTheStandardLibrary(t *testing.T) {
	const module = "github.com/hashedwheel/hwt"
	dirs := []string{"."}
	for i := 0; i < len(dirs); i++ {
		pkg, err := build.ImportDir(dirs[i], 0)
		require.NoError(t, err)
		for _, path := range pkg.Imports {
			first, _, _ := strings.Cut(path, "/")
			dir, own := strings.CutPrefix(path, module)
			switch {
			case !own:
				assert.False(t, strings.Contains(first, "."), "%s imports %s", dirs[i], path)
			case !slices.Contains(dirs, ".."+dir):
				dirs = append(dirs, ".."+dir)
			}
		}
	}
}
