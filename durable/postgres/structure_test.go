package postgres

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	maxMethods = 20 // of a type
	maxUpward  = 0  // pairs of files, the first of which uses one further up
)

// No type has many methods, and the files keep the order in which doc.go names them.
func TestOwnersAndFilesKeepTheirOrder(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	level := map[string]int{}
	for i, file := range regexp.MustCompile(`[ \t][a-z]+\.go\b`).FindAllString(string(doc), -1) {
		level[file[1:]] = i
	}
	files, fset, info := typed(t)
	assert.ElementsMatch(t, files, slices.Collect(maps.Keys(level)), "doc.go names each file")
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	methods := map[string]int{}
	for _, object := range info.Defs {
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			methods[strings.TrimLeft(types.TypeString(f.Signature().Recv().Type(), nil), "*")]++
		}
	}
	for name, n := range methods {
		assert.LessOrEqual(t, n, maxMethods, name)
	}
	upward := map[string]string{}
	for id, object := range info.Uses {
		if object.Pkg() != nil && object.Pkg().Path() == "postgres" {
			from, to := fileOf(id.Pos()), fileOf(object.Pos())
			if level[from] < level[to] {
				upward[from+" uses "+to] = object.Name()
			}
		}
	}
	assert.LessOrEqual(t, len(upward), maxUpward, "%v", upward)
}

// typed returns the files of the package, without its tests and those of systems, and the types of all
// that they define and use.
func typed(t *testing.T) (names []string, _ *token.FileSet, _ *types.Info) {
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}").Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	imports := func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(data)), err
	}
	list, err = exec.Command("go", "list", "-f", "{{range .GoFiles}}{{.}} {{end}}").Output()
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range strings.Fields(string(list)) {
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
		if name != "doc.go" && !strings.Contains(name, "_") {
			names = append(names, name)
		}
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", imports)}
	_, err = config.Check("postgres", fset, files, info)
	require.NoError(t, err)
	return names, fset, info
}
