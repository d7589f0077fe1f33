package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestDropReplacementsKeepsExistingFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("inside/go.mod", "module example.org/inside\n")
	const module = "module example.org/m\n\ngo 1.25.0\n"
	const kept = "\nreplace (\n\texample.org/fork => example.org/other v1.0.0\n\texample.org/inside => ./inside\n)\n"
	write("go.mod", module+"\nreplace (\n\texample.org/api => ../api\n\texample.org/old v1.0.0 => ../old\n)\n"+kept)
	if err := dropReplacements(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := module + kept; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
