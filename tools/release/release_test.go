package main

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func parsed(t *testing.T, dir, text string) module {
	t.Helper()
	file, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return module{dir: dir, file: file}
}

func TestModulesAreInOrder(t *testing.T) {
	root := parsed(t, ".", "module "+rootPath)
	outer := parsed(t, "a", "module "+rootPath+"/a\nrequire "+rootPath+" v0.0.0\nrequire "+rootPath+"/z v0.0.0")
	inner := parsed(t, "z", "module "+rootPath+"/z\nrequire "+rootPath+" v0.0.0")
	sorted, err := inOrder([]module{outer, root, inner})
	if err != nil {
		t.Fatal(err)
	}
	r := release{version: "v0.1.0", modules: sorted}
	if got, want := r.tags(), []string{"v0.1.0", "z/v0.1.0", "a/v0.1.0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := inOrder([]module{root, outer}); err == nil {
		t.Error("a requires z, which is not there")
	}
}

func TestModulesThatProgramsImportAreReleased(t *testing.T) {
	files, err := git("../..", "ls-files", "*go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"durable/cmd/hwtdurable", "durable", "durable/postgres", "durable/sqlite", ".", "metrics/hwtotel", "metrics/hwtprom"}
	if got := importable(strings.Fields(files)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: a new module belongs here, or to private", got, want)
	}
}

func TestVersionsAreChecked(t *testing.T) {
	for _, bad := range []string{"0.1.0", "v2.0.0", "v0.1", "latest"} {
		if err := run(t.TempDir(), bad, false, ""); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestModulesBelowPrivateFoldersArePrivate(t *testing.T) {
	got := importable([]string{"go.mod", "durable/go.mod", "examples/queue/go.mod", "bench/go.mod", "benchmark/go.mod"})
	if want := []string{".", "durable", "benchmark"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
