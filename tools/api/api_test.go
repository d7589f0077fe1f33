// Package api_test compares the exported API of all importable packages with api/v0.1.txt.
package api_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the API to its file")

const (
	root = "../.."
	file = root + "/api/v0.1.txt"
)

// notImportable matches the folders without packages for other modules.
var notImportable = regexp.MustCompile(`^(bench|cmd|examples|tools|docs|inspect/browsertest|durable/cmd)$|(^|/)(internal|testdata|\..+)$`)

func TestExportedAPIEqualsItsFile(t *testing.T) {
	lines := api{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && notImportable.MatchString(name):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil && source.Name.Name != "main" {
			lines.addFile(filepath.ToSlash(filepath.Dir(name)), source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report(t, "gone", string(before), now)
	report(t, "new", now, string(before))
}

// report reports the lines of one text that the other lacks.
func report(t *testing.T, what, has, lacks string) {
	known := strings.Split(lacks, "\n")
	for line := range strings.SplitSeq(has, "\n") {
		if !slices.Contains(known, line) {
			t.Errorf("%s: %s\nIf this is intended: go -C tools test ./api -update", what, line)
		}
	}
}

// api is the set of lines of the API file. Each line describes one exported name.
type api map[string]bool

func (a api) addFile(pkg string, f *ast.File) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			a.addFunc(pkg, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					a.addType(pkg, s)
				case *ast.ValueSpec:
					a.addValues(pkg, d.Tok, s)
				}
			}
		}
	}
}

func (a api) add(pkg, format string, args ...any) {
	a[pkg+": "+fmt.Sprintf(format, args...)] = true
}

func (a api) addFunc(pkg string, d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		a.add(pkg, "func %s%s%s", d.Name, typeParams(d.Type.TypeParams), signature(d.Type))
	} else if receiver := types.ExprString(d.Recv.List[0].Type); ast.IsExported(strings.TrimPrefix(receiver, "*")) {
		a.add(pkg, "method (%s) %s%s", receiver, d.Name, signature(d.Type))
	}
}

func (a api) addValues(pkg string, kind token.Token, s *ast.ValueSpec) {
	for i, name := range s.Names {
		switch {
		case !name.IsExported():
		case s.Type != nil:
			a.add(pkg, "%v %s %s", kind, name, types.ExprString(s.Type))
		case kind == token.CONST && i < len(s.Values):
			a.add(pkg, "const %s = %s", name, types.ExprString(s.Values[i]))
		default:
			a.add(pkg, "%v %s", kind, name)
		}
	}
}

func (a api) addType(pkg string, s *ast.TypeSpec) {
	if !s.Name.IsExported() {
		return
	}
	name := s.Name.Name
	switch t := s.Type.(type) {
	case *ast.StructType:
		a.add(pkg, "type %s%s struct", name, typeParams(s.TypeParams))
		a.addMembers(pkg, name+", field", t.Fields)
	case *ast.InterfaceType:
		a.add(pkg, "type %s%s interface", name, typeParams(s.TypeParams))
		a.addMembers(pkg, name+", method", t.Methods)
	default:
		assign := ""
		if s.Assign.IsValid() {
			assign = "= "
		}
		a.add(pkg, "type %s%s %s%s", name, typeParams(s.TypeParams), assign, exprOf(t))
	}
}

// addMembers adds exported fields of a struct, or methods of an interface, and embedded types.
func (a api) addMembers(pkg, what string, list *ast.FieldList) {
	for _, field := range list.List {
		if len(field.Names) == 0 {
			a.add(pkg, "%s %s, embedded", what, types.ExprString(field.Type))
		}
		for _, name := range field.Names {
			if name.IsExported() {
				a.add(pkg, "%s %s %s", what, name, exprOf(field.Type))
			}
		}
	}
}

// exprOf is types.ExprString without the names of parameters.
func exprOf(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	return types.ExprString(e)
}

func signature(f *ast.FuncType) string {
	results := list(f.Results)
	switch {
	case results == "":
	case strings.Contains(results, ", "):
		results = " (" + results + ")"
	default:
		results = " " + results
	}
	return "(" + list(f.Params) + ")" + results
}

// list returns the types of fields, one per name.
func list(fields *ast.FieldList) string {
	var all []string
	if fields != nil {
		for _, f := range fields.List {
			all = append(all, slices.Repeat([]string{exprOf(f.Type)}, max(len(f.Names), 1))...)
		}
	}
	return strings.Join(all, ", ")
}

func typeParams(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	return "[" + list(fields) + "]"
}
