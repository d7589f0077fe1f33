package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const rootPath = "github.com/hashedwheel/hwt"

// private are the folders of modules that programs do not import, and of those below. They
// keep their replace directives.
var private = []string{"bench", "tools", "examples", "inspect/browsertest"}

// release is a version in the making.
type release struct {
	version string
	clone   string   // the repository's copy
	temp    string   // for everything else
	folder  string   // served as a module proxy
	modules []module // the root first, then in an order in which each requires only earlier ones
}

// module is one that programs import.
type module struct {
	dir  string // within the repository; "." for the root
	file *modfile.File
}

func (m module) path() string { return m.file.Module.Mod.Path }

// tag returns the name of the module's tag, by which the go command finds it.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

func (r *release) tags() (all []string) {
	for _, m := range r.modules {
		all = append(all, m.tag(r.version))
	}
	return all
}

// prepare makes the clone, and finds the modules.
func (r *release) prepare(root string) error {
	if _, err := git(root, "diff", "--quiet", "HEAD"); err != nil {
		return fmt.Errorf("the repository has changes that are not committed")
	}
	if _, err := git(root, "clone", "--quiet", "--shared", root, r.clone); err != nil {
		return err
	}
	files, err := git(r.clone, "ls-files", "*go.mod")
	if err != nil {
		return err
	}
	for _, dir := range importable(strings.Fields(files)) {
		m, err := readModule(r.clone, dir)
		if err != nil {
			return err
		}
		r.modules = append(r.modules, m)
	}
	r.modules, err = inOrder(r.modules)
	return err
}

// importable returns the folders of the modules that programs import.
func importable(files []string) (dirs []string) {
	for _, file := range files {
		dir := path.Dir(file)
		if !slices.ContainsFunc(private, func(p string) bool { return strings.HasPrefix(dir+"/", p+"/") }) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func readModule(clone, dir string) (module, error) {
	name := filepath.Join(clone, dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return module{}, err
	}
	file, err := modfile.Parse(name, text, nil)
	return module{dir: dir, file: file}, err
}

// ours reports whether the required module is in the repository.
func ours(r *modfile.Require) bool { return strings.HasPrefix(r.Mod.Path+"/", rootPath+"/") }

// inOrder sorts modules so that each requires only earlier ones.
func inOrder(modules []module) (sorted []module, err error) {
	done := map[string]bool{}
	for len(sorted) < len(modules) {
		before := len(sorted)
		for _, m := range modules {
			waits := slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return ours(r) && !done[r.Mod.Path] })
			if !done[m.path()] && !waits {
				done[m.path()] = true
				sorted = append(sorted, m)
			}
		}
		if len(sorted) == before {
			return nil, fmt.Errorf("modules require each other, or one that programs do not import")
		}
	}
	return sorted, nil
}

// make commits and tags the modules, and serves each before the next requires it.
func (r *release) make() error {
	for _, m := range r.modules {
		if m.dir != "." {
			if err := r.pin(m); err != nil {
				return fmt.Errorf("%s: %w", m.dir, err)
			}
		}
		if err := r.serve(m); err != nil {
			return fmt.Errorf("%s: %w", m.dir, err)
		}
	}
	for _, tag := range r.tags() {
		if _, err := git(r.clone, "-c", "user.name=release", "-c", "user.email=release@localhost", "tag", "-a", tag, "-m", tag); err != nil {
			return err
		}
	}
	return nil
}

// pin makes a module require this version of the others, and commits that.
func (r *release) pin(m module) error {
	for _, replace := range slices.Clone(m.file.Replace) {
		if err := m.file.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return err
		}
	}
	for _, required := range m.file.Require {
		if ours(required) {
			if err := m.file.AddRequire(required.Mod.Path, r.version); err != nil {
				return err
			}
		}
	}
	m.file.Cleanup()
	text, err := m.file.Format()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.clone, m.dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
		return err
	}
	if _, err := r.goCommand(dir, "mod", "tidy"); err != nil {
		return err
	}
	_, err = git(r.clone, "-c", "user.name=release", "-c", "user.email=release@localhost",
		"commit", "--quiet", "-am", m.dir+": require "+r.version)
	return err
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
