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

// Missing returns the names of the standard package std that the package in dir does
// not have, or has with another type. A type that dir redeclares must have all methods.
func Missing(std, dir string) ([]string, error) {
	p, err := build.Import(std, "", 0)
	if err != nil {
		return nil, err
	}
	want, err := read(p)
	if err != nil {
		return nil, err
	}
	if p, err = build.ImportDir(dir, 0); err != nil {
		return nil, err
	}
	have, err := read(p)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range want.names {
		if !slices.Contains(have.names, name) {
			missing = append(missing, name)
		}
	}
	return append(missing, have.missingFuncs(want)...), nil
}

// api is the exported names of a package, in source order.
type api struct {
	names []string    // types, constants and variables
	funcs [][2]string // names, and types of the parameters and results; methods as Timer.Stop
}

func read(p *build.Package) (*api, error) {
	a, fset := new(api), token.NewFileSet()
	for _, file := range p.GoFiles {
		parsed, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				a.addFunc(decl, fset)
			case *ast.GenDecl:
				a.addNames(decl)
			}
		}
	}
	return a, nil
}

func (a *api) addFunc(decl *ast.FuncDecl, fset *token.FileSet) {
	name := decl.Name.Name
	if decl.Recv != nil {
		receiver := decl.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		name = source(fset, receiver) + "." + name
	}
	if ast.IsExported(name) && decl.Name.IsExported() {
		a.funcs = append(a.funcs, [2]string{name, types(fset, decl.Type.Params) + " " + types(fset, decl.Type.Results)})
	}
}

func (a *api) addNames(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		var names []*ast.Ident
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = []*ast.Ident{spec.Name}
		case *ast.ValueSpec:
			names = spec.Names
		}
		for _, name := range names {
			if name.IsExported() {
				a.names = append(a.names, name.Name)
			}
		}
	}
}

// types returns the types of fields, without names.
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

func source(fset *token.FileSet, node any) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, node); err != nil {
		panic(err) // Cannot happen: the node was parsed, and Builder does not fail.
	}
	return b.String()
}

func (a *api) missingFuncs(want *api) (missing []string) {
	have := map[string]string{}
	anew := map[string]bool{} // types with methods
	for _, f := range a.funcs {
		have[f[0]] = f[1]
		if receiver, _, ok := strings.Cut(f[0], "."); ok {
			anew[receiver] = true
		}
	}
	for _, f := range want.funcs {
		receiver, _, method := strings.Cut(f[0], ".")
		if method && !anew[receiver] {
			continue // the alias has it
		}
		if have[f[0]] != f[1] {
			missing = append(missing, f[0]+f[1])
		}
	}
	return missing
}
