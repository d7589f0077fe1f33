package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestApparatusKeepsToItsShare(t *testing.T) {
	w, err := weigh(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if sum(w.library) < 10_000 || sum(w.apparatus) < 1000 {
		t.Errorf("some lines were not counted:\n%v", w)
	}
	if w.share() > limit {
		t.Errorf("%v", w)
	}
}

func TestLinesAreCountedByTheirFolder(t *testing.T) {
	root := t.TempDir()
	for name, lines := range map[string]int{
		"a.go": 1, "a_test.go": 2, "keyed/b.go": 4, "tools/x/c.go": 8, "tools/mutate/mutants/m.txt": 16,
		"docs/d.go": 32, "durable/e.go": 64, "durable/cmd/hwtdurable/f.go": 128, ".git/g.go": 256, "h.md": 512,
		"durable/check.sh": 1024, "bench/a/b.rs": 2048, "bench/a/c.java": 4096, "docs/m.pml": 8192, ".ci/run": 16384,
		"keyed/testdata/i.go": 32768, "inspect/page.js": 65536,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("\n", lines)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := weigh(root)
	if err != nil || sum(w.library) != 1+4+64 || sum(w.apparatus) != 8+16+32+128+1024+2048+4096+8192+16384 {
		t.Errorf("%v, %v", w, err)
	}
}

// Every program that uses the library downloads these modules.
func TestRootRequiresLittle(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, r := range file.Require {
		if !r.Indirect {
			direct++
		}
	}
	if direct > 9 || strings.Count(string(text), "\nrequire (") != 2 {
		t.Errorf("%d direct requirements (at most 9), in blocks for direct and indirect ones:\n%s", direct, text)
	}
}
