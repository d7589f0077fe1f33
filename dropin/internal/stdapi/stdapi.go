// Package stdapi reads the exported names of a package from its source.
package stdapi

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// API is the exported names of a package.
type API struct {
	Types  []string // in source order, like the others
	Consts []string
	Vars   []string
	Funcs  []Func // methods included
}

// Func is a function, or a method of an exported type.
type Func struct {
	Name string // includes the type of a method: Timer.Stop
	decl *ast.FuncDecl
	fset *token.FileSet
}

// Std reads a package of the installed standard library.
func Std(path string) (*API, error) {
	p, err := build.Import(path, "", 0)
	if err != nil {
		return nil, err
	}
	return read(p.Dir, p.GoFiles)
}

// Dir reads the package in dir, except the named files.
func Dir(dir string, without ...string) (*API, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, file := range p.GoFiles {
		if !slices.Contains(without, file) {
			files = append(files, file)
		}
	}
	return read(dir, files)
}

func read(dir string, files []string) (*API, error) {
	api, fset := new(API), token.NewFileSet()
	for _, file := range files {
		parsed, err := parser.ParseFile(fset, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				api.addFunc(decl, fset)
			case *ast.GenDecl:
				api.addNames(decl)
			}
		}
	}
	return api, nil
}

func (a *API) addFunc(decl *ast.FuncDecl, fset *token.FileSet) {
	name := decl.Name.Name
	if decl.Recv != nil {
		receiver := decl.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		name = source(fset, receiver) + "." + name
	}
	if ast.IsExported(name) && decl.Name.IsExported() {
		a.Funcs = append(a.Funcs, Func{Name: name, decl: decl, fset: fset})
	}
}

func (a *API) addNames(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			a.Types = exported(a.Types, spec.Name)
		case *ast.ValueSpec:
			if decl.Tok == token.CONST {
				a.Consts = exported(a.Consts, spec.Names...)
			} else {
				a.Vars = exported(a.Vars, spec.Names...)
			}
		}
	}
}

func exported(list []string, names ...*ast.Ident) []string {
	for _, name := range names {
		if name.IsExported() {
			list = append(list, name.Name)
		}
	}
	return list
}

// IsMethod reports whether f is a method.
func (f Func) IsMethod() bool { return f.decl.Recv != nil }

// Signature returns the parameters and results as written in the source.
func (f Func) Signature() string {
	return strings.TrimPrefix(source(f.fset, f.decl.Type), "func")
}

// Types returns the types of the parameters and results, without names.
func (f Func) Types() string {
	return types(f.fset, f.decl.Type.Params) + " " + types(f.fset, f.decl.Type.Results)
}

func types(fset *token.FileSet, fields *ast.FieldList) string {
	var all []string
	if fields != nil {
		for _, field := range fields.List {
			for range max(1, len(field.Names)) {
				all = append(all, source(fset, field.Type))
			}
		}
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// Returns reports whether f has results.
func (f Func) Returns() bool { return f.decl.Type.Results != nil }

// Arguments returns the names of the parameters as a call's arguments.
func (f Func) Arguments() string {
	var all []string
	for _, field := range f.decl.Type.Params.List {
		for _, name := range field.Names {
			all = append(all, name.Name)
		}
	}
	return strings.Join(all, ", ")
}

func source(fset *token.FileSet, node any) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, node); err != nil {
		panic(err) // Cannot happen: the node was parsed, and Builder does not fail.
	}
	return b.String()
}

// Missing returns the names of the standard package std that the package in dir does
// not have, or has with another type. A type that dir redeclares must have all methods.
func Missing(std, dir string) ([]string, error) {
	want, err := Std(std)
	if err != nil {
		return nil, err
	}
	have, err := Dir(dir)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, names := range [][2][]string{{want.Types, have.Types}, {want.Consts, have.Consts}, {want.Vars, have.Vars}} {
		for _, name := range names[0] {
			if !slices.Contains(names[1], name) {
				missing = append(missing, name)
			}
		}
	}
	return append(missing, have.missingFuncs(want)...), nil
}

func (a *API) missingFuncs(want *API) (missing []string) {
	have := map[string]string{}
	anew := map[string]bool{} // types with methods
	for _, f := range a.Funcs {
		have[f.Name] = f.Types()
		if receiver, _, ok := strings.Cut(f.Name, "."); ok {
			anew[receiver] = true
		}
	}
	for _, f := range want.Funcs {
		receiver, _, method := strings.Cut(f.Name, ".")
		if method && !anew[receiver] {
			continue // the alias has it
		}
		if have[f.Name] != f.Types() {
			missing = append(missing, f.Name+f.Types())
		}
	}
	return missing
}
