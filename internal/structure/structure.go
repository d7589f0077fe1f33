// Package structure checks the shape of a package in the tests of that package.
package structure

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxMethods is the limit for the methods of a type. Exported methods of exported types do not count.
const maxMethods = 20

// Check fails a test unless the package in the working directory keeps its order. No type has many methods.
// The file doc.go lists the others, except those of single systems, and each file uses only files
// above it in the list: at most maxUpward pairs of files break that.
func Check(t *testing.T, maxUpward int) {
	files, fset, info := typed(t)
	doc, err := os.ReadFile("doc.go")
	must(t, err)
	level := map[string]int{}
	for i, file := range regexp.MustCompile(`[ \t][a-z]+\.go\b`).FindAllString(string(doc), -1) {
		level[file[1:]] = i
		if !slices.Contains(files, file[1:]) {
			t.Errorf("doc.go lists %s, which does not exist", file[1:])
		}
	}
	for _, file := range files {
		if _, listed := level[file]; !listed {
			t.Errorf("doc.go does not list %s", file)
		}
	}
	methods := map[string]int{}
	for _, object := range info.Defs {
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			name := strings.TrimLeft(types.TypeString(f.Signature().Recv().Type(), func(*types.Package) string { return "" }), "*")
			if !ast.IsExported(name) || !f.Exported() {
				methods[name]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods (expected: up to %d)", name, n, maxMethods)
		}
	}
	upward := map[string]string{}
	for id, object := range info.Uses {
		if object.Pkg() != nil && object.Pkg().Path() == local {
			from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)
			if level[from] < level[to] {
				upward[from+" uses "+to] = object.Name()
			}
		}
	}
	if len(upward) > maxUpward {
		t.Errorf("%d pairs of files, the first of which uses a file below it (expected: up to %d): %v", len(upward), maxUpward, upward)
	}
}

// local is the path under which the package is checked.
const local = "local"

// typed returns the files of the package without its tests and the files of systems, and the types
// of all that they define and use.
func typed(t *testing.T) (names []string, _ *token.FileSet, _ *types.Info) {
	exports := map[string]string{}
	for line := range strings.Lines(golist(t, "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}")) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	imports := func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(data)), err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range strings.Fields(golist(t, "-f", "{{range .GoFiles}}{{.}} {{end}}")) {
		file, err := parser.ParseFile(fset, name, nil, 0)
		must(t, err)
		files = append(files, file)
		if name != "doc.go" && !strings.Contains(name, "_") {
			names = append(names, name)
		}
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", imports)}
	_, err := config.Check(local, fset, files, info)
	must(t, err)
	return names, fset, info
}

func golist(t *testing.T, args ...string) string {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	must(t, err)
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("structure: %w", err))
	}
}
