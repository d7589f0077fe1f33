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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Package is the package in the working directory.
type Package struct {
	t     *testing.T
	fset  *token.FileSet
	files map[string]*ast.File // by name, without tests
	info  *types.Info
}

// maxMethods is the limit for the methods of a type. Exported methods of exported types do not count.
const maxMethods = 20

// Check fails a test unless the package in the working directory keeps its order, and its types
// have few methods. At most maxUpward pairs of files break the order.
func Check(t *testing.T, maxUpward int) {
	p := Load(t)
	p.CheckOrder(maxUpward)
	p.checkMethods()
}

// CheckOrder fails the test unless doc.go lists the files, except those of single systems, and each
// file uses only files above in the list: at most maxUpward pairs of files break the order.
func (p *Package) CheckOrder(maxUpward int) {
	doc, err := os.ReadFile("doc.go")
	must(p.t, err)
	level := map[string]int{}
	for i, file := range regexp.MustCompile(`[ \t][a-z]+\.go\b`).FindAllString(string(doc), -1) {
		level[file[1:]] = i
		if p.files[file[1:]] == nil {
			p.t.Errorf("doc.go lists %s, which does not exist", file[1:])
		}
	}
	for file := range p.files {
		if _, listed := level[file]; !listed && file != "doc.go" && !strings.Contains(file, "_") {
			p.t.Errorf("doc.go does not list %s", file)
		}
	}
	upward := map[string]string{}
	for id, object := range p.info.Uses {
		if object.Pkg() != nil && object.Pkg().Path() == local {
			from, to := p.fileOf(id.Pos()), p.fileOf(object.Pos())
			if level[from] < level[to] {
				upward[from+" uses "+to] = object.Name()
			}
		}
	}
	if len(upward) > maxUpward {
		p.t.Errorf("%d pairs of files, the first of which uses a file below it (expected: up to %d): %v", len(upward), maxUpward, upward)
	}
}

func (p *Package) checkMethods() {
	methods := map[string]int{}
	for _, object := range p.info.Defs {
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			name := strings.TrimLeft(types.TypeString(f.Signature().Recv().Type(), func(*types.Package) string { return "" }), "*")
			if !ast.IsExported(name) || !f.Exported() {
				methods[name]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			p.t.Errorf("%s has %d methods (expected: up to %d)", name, n, maxMethods)
		}
	}
}

// CheckFields fails the test if a file writes a field that another file declares. A reader then
// finds all that may happen to a field in one file. Composite literals set fields anywhere. It
// returns the number of writes.
func (p *Package) CheckFields() (writes int) {
	check := func(target ast.Expr) {
		field := p.fieldOf(target)
		if field == nil {
			return
		}
		writes++
		if owner := p.fileOf(field.Pos()); owner != p.fileOf(target.Pos()) {
			p.t.Errorf("%s: writes the field %s of %s", p.fset.Position(target.Pos()), field.Name(), owner)
		}
	}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					check(target)
				}
			case *ast.IncDecStmt:
				check(n.X)
			case *ast.CallExpr:
				if call, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(atomicWrites, call.Sel.Name) {
					check(call.X)
				}
			}
			return true
		})
	}
	return writes
}

// atomicWrites are the methods of atomic types that write.
var atomicWrites = []string{"Store", "Add", "Swap", "CompareAndSwap", "Or", "And"}

// fieldOf returns the field of a struct of the package that target, the operand of a write,
// denotes, or nil.
func (p *Package) fieldOf(target ast.Expr) *types.Var {
	for {
		switch e := target.(type) {
		case *ast.ParenExpr:
			target = e.X
		case *ast.IndexExpr:
			target = e.X
		case *ast.SelectorExpr:
			field, ok := p.info.Uses[e.Sel].(*types.Var)
			if ok && field.IsField() && field.Pkg() != nil && field.Pkg().Path() == local {
				return field
			}
			return nil
		default:
			return nil
		}
	}
}

func (p *Package) fileOf(at token.Pos) string { return filepath.Base(p.fset.Position(at).Filename) }

// local is the path under which the package is checked.
const local = "local"

// Load returns the package in the working directory without its tests, with the types of all
// definitions and uses.
func Load(t *testing.T) *Package {
	exports := map[string]string{}
	for line := range strings.Lines(golist(t, "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}")) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	imports := func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(data)), err
	}
	p := &Package{t: t, fset: token.NewFileSet(), files: map[string]*ast.File{}}
	p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	for _, name := range strings.Fields(golist(t, "-f", "{{range .GoFiles}}{{.}} {{end}}")) {
		file, err := parser.ParseFile(p.fset, name, nil, 0)
		must(t, err)
		p.files[name] = file
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", imports)}
	_, err := config.Check(local, p.fset, slices.Collect(maps.Values(p.files)), p.info)
	must(t, err)
	return p
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
