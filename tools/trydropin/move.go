package main

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const library = "github.com/hashedwheel/hwt"

// copyModule copies the module to dir, where it can be changed. goMod replaces a
// missing go.mod, as of releases before modules. copyModule sets the library's version
// of the Go language, so that both runs use the same one.
func copyModule(ctx context.Context, dir, source, goMod string) error {
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return err
	}
	if !exists(dir, ".") {
		text, err := os.ReadFile(goMod)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
			return err
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		return err
	}
	if err := dropReplacements(ctx, dir); err != nil {
		return err
	}
	return goCommand(ctx, dir, "mod", "edit", "-go=1.25.0", "-toolchain=none")
}

// move replaces the imports and returns the number of changed files.
func (c config) move(ctx context.Context, dir string) (moved int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		changed, err := c.moveFile(path)
		if changed {
			moved++
		}
		return err
	})
	if err != nil {
		return moved, err
	}
	return moved, goCommand(ctx, dir, "mod", "edit", "-require="+library+"@v0.0.0", "-replace="+library+"="+c.root)
}

func (c config) moveFile(path string) (changed bool, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	moved := c.moveSource(source)
	if string(moved) == string(source) {
		return false, nil
	}
	return true, os.WriteFile(path, moved, 0o644)
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

func goCommand(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
