package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	modulepath "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// serve puts the module, as it is in the clone's commit, where GOPROXY finds it.
func (r *release) serve(m module) error {
	version := modulepath.Version{Path: m.path(), Version: r.version}
	dir := filepath.Join(r.folder, filepath.FromSlash(m.path()), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, version, r.clone, "HEAD", strings.TrimPrefix(m.dir, ".")); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(r.clone, m.dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": mod, r.version + ".zip": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs the go command with these modules from the folder. Its module
// cache is separate, to keep the version out of the user's. Other modules come from there.
func (r *release) goCommand(dir string, args ...string) (string, error) {
	env, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return "", err
	}
	cache, upstream, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOMODCACHE="+filepath.Join(r.temp, "cache"),
		"GOPROXY=file://"+r.folder+",file://"+filepath.Join(cache, "cache", "download")+","+upstream,
		"GONOSUMDB=github.com/hashedwheel/*", // no checksum database knows this version yet
		"GOFLAGS=-modcacherw -mod=mod", "GOWORK=off", "GOBIN="+filepath.Join(r.temp, "bin"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// check builds a module that imports every package, and installs the command.
func (r *release) check() error {
	dir := filepath.Join(r.temp, "outside")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := r.goCommand(dir, "mod", "init", "example.com/outside"); err != nil {
		return err
	}
	var imports strings.Builder
	for _, m := range r.modules {
		if _, err := r.goCommand(dir, "get", m.path()+"@"+r.version); err != nil {
			return err
		}
		packages, err := r.packages(m)
		if err != nil {
			return err
		}
		for _, p := range packages {
			fmt.Fprintf(&imports, "import _ %q\n", p)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "outside.go"), []byte("package outside\n\n"+imports.String()), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "./..."}, {"install", rootPath + "/cmd/hwtdemo@" + r.version}} {
		if _, err := r.goCommand(dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// packages returns the module's packages that others can import.
func (r *release) packages(m module) ([]string, error) {
	out, err := r.goCommand(filepath.Join(r.clone, m.dir), "list", "-f", "{{if and .GoFiles (ne .Name \"main\")}}{{.ImportPath}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(p string) bool {
		return strings.Contains(p+"/", "/internal/") || !strings.HasPrefix(p, rootPath)
	}), nil
}
