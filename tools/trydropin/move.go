package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

const library = "github.com/hashedwheel/hwt"

// copyModule copies the module to dir, where it can be changed. goMod replaces a
// missing go.mod, as of releases before modules.
func copyModule(dir, source, goMod string) error {
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return err
	}
	if !isModule(dir) {
		text, err := os.ReadFile(goMod)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		return err
	}
	return edit(dir, func(file *modfile.File) error {
		file.DropToolchainStmt()
		if file.Go != nil {
			return dropReplacements(file, dir)
		}
		// The version that Go assumes. go test would write its own version.
		return errors.Join(dropReplacements(file, dir), file.AddGoStmt("1.16"))
	})
}

// raise raises the go line of the module in dir to the library's, as a requirement of the
// library does. It returns the line, or "" if the module's is not older.
func (c config) raise(dir string) (line string, err error) {
	text, err := os.ReadFile(filepath.Join(c.root, "go.mod"))
	if err != nil {
		return "", err
	}
	own, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return "", err
	}
	least := own.Go.Version
	err = edit(dir, func(file *modfile.File) error {
		if file.Go != nil && version.Compare("go"+file.Go.Version, "go"+least) >= 0 {
			return nil
		}
		line = least
		return file.AddGoStmt(least)
	})
	return line, err
}

// edit changes the go.mod in dir.
func edit(dir string, change func(*modfile.File) error) error {
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	if err := change(file); err != nil {
		return err
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// dropReplacements removes the replacements by folders that do not exist, such as
// ../api. Module archives do not contain these folders. The published versions that the
// module requires take their place.
func dropReplacements(file *modfile.File, dir string) error {
	for _, r := range slices.Clone(file.Replace) {
		path := r.New.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if r.New.Version != "" || isModule(path) {
			continue
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	return nil
}

// isModule reports whether dir is a module's folder.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// move replaces the imports and returns the number of changed files, which is positive.
func (c config) move(dir string) (moved int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := c.moveSource(source)
		if string(changed) == string(source) {
			return nil
		}
		moved++
		return os.WriteFile(path, changed, 0o644)
	})
	if err == nil && moved == 0 {
		err = fmt.Errorf("no file imports %s", strings.Join(c.imports, " or "))
	}
	if err != nil {
		return moved, err
	}
	return moved, edit(dir, func(file *modfile.File) error {
		return errors.Join(file.AddRequire(library, "v0.0.0"), file.AddReplace(library, "", c.root, ""))
	})
}

// moveSource returns the source with its imports replaced. A source that does not
// parse, such as a template, is returned unchanged.
func (c config) moveSource(source []byte) []byte {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.ImportsOnly)
	if err != nil {
		return source
	}
	moved := slices.Clone(source)
	for _, spec := range slices.Backward(file.Imports) { // last first, so that the other offsets stay valid
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && slices.Contains(c.imports, path) {
			from, to := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
			moved = slices.Replace(moved, from, to, []byte(strconv.Quote(library+"/dropin/"+path))...)
		}
	}
	return moved
}
