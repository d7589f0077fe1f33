package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestMoveSourceReplacesImports(t *testing.T) {
	c := config{imports: []string{"time", "context"}}
	const source = `package p // uses "time"

import (
	stdctx "context"
	"fmt"
	"time"
)

var s = "time"
`
	want := strings.NewReplacer(`	"time"`, `	"`+library+`/dropin/time"`, `stdctx "context"`, `stdctx "`+library+`/dropin/context"`).Replace(source)
	if got := string(c.moveSource([]byte(source))); got != want {
		t.Errorf("got %s", got)
	}
	const template = "{{.Package}}\nimport \"time\"\n"
	if got := string(c.moveSource([]byte(template))); got != template {
		t.Errorf("a template became %s", got)
	}
}

func TestCompareFindsDifferences(t *testing.T) {
	before := read(strings.NewReader(`
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"pass","Package":"q"}
{"Action":"fail","Package":"p"}`))
	if got, want := before.String(), "1 tests passed, 1 failed, 1 skipped; 1 packages passed, 1 failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := compare(before, before); err != nil {
		t.Error(err)
	}
	named := read(strings.NewReader(`
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"a/p","Test":"TestA/seed_1"}
{"Action":"pass","Package":"a/p","Test":"TestA"}`))
	if !named.passed("a/p TestA/seed_2") || named.passed("a/p TestB/seed_2") || named.passed("a/q") {
		t.Error("subtests with random names must pass with their parent")
	}
	after := read(strings.NewReader(`
go: downloading
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"build-output","ImportPath":"q","Output":"cannot use timer"}
{"Action":"fail","Package":"q","FailedBuild":"q"}`))
	if err := compare(before, after); err == nil {
		t.Error("q failed")
	}
	var out strings.Builder
	after.explain(&out, []string{"q"})
	if !strings.Contains(out.String(), "cannot use timer") {
		t.Errorf("explained as %q", out.String())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func expectFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

func TestCopyModuleAddsAMissingGoMod(t *testing.T) {
	source, dir, goMod := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "v1.0.0.mod")
	write(t, filepath.Join(source, "p.go"), "package p\n")
	write(t, goMod, "module example.org/p\n")
	if err := copyModule(dir, source, goMod); err != nil {
		t.Fatal(err)
	}
	expectFile(t, filepath.Join(dir, "p.go"), "package p\n")
	expectFile(t, filepath.Join(dir, "go.mod"), "module example.org/p\n\ngo 1.16\n")
}

func TestRaiseRaisesOnlyOlderGoLines(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/library\n\ngo 1.26.0\n")
	for before, want := range map[string]string{"": "1.26.0", "go 1.9\n": "1.26.0", "go 1.25.7\n": "1.26.0", "go 1.26.0\n": "", "go 1.27.1\n": ""} {
		t.Run(before, func(t *testing.T) {
			write(t, filepath.Join(dir, "go.mod"), "module example.org/m\n\n"+before)
			if line, err := (config{root: root}).raise(dir); line != want || err != nil {
				t.Errorf("%q, %v", line, err)
			}
			if want != "" {
				before = "go 1.26.0\n"
			}
			expectFile(t, filepath.Join(dir, "go.mod"), "module example.org/m\n\n"+before)
		})
	}
}

func TestModuleWithoutTheImportsIsAnError(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.org/p\n")
	write(t, filepath.Join(dir, "p.go"), "package p\n\nimport \"os\"\n")
	if _, err := (config{imports: []string{"time", "context"}}).move(dir); err == nil || err.Error() != "no file imports time or context" {
		t.Error(err)
	}
}

func TestDropReplacementsKeepsExistingFolders(t *testing.T) {
	dir := t.TempDir()
	goMod := filepath.Join(dir, "go.mod")
	write(t, filepath.Join(dir, "inside", "go.mod"), "module example.org/inside\n")
	const module = "module example.org/m\n\ngo 1.26.0\n"
	const kept = "\nreplace (\n\texample.org/fork => example.org/other v1.0.0\n\texample.org/inside => ./inside\n)\n"
	write(t, goMod, module+"\nreplace (\n\texample.org/api => ../api\n\texample.org/old v1.0.0 => ../old\n)\n"+kept)
	if err := edit(dir, func(file *modfile.File) error { return dropReplacements(file, dir) }); err != nil {
		t.Fatal(err)
	}
	expectFile(t, goMod, module+kept)
}
