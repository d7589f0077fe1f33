// Command weight compares the size of the library with that of its apparatus: everything
// that programs cannot import, or import only to test. It counts lines of Go that are not
// tests and, of the apparatus, also the lines of Java, Rust, Promela, shell, and the mutants.
// From the repository's root:
//
//	go -C tools run ./weight
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// apparatus lists the folders that measure, test, demonstrate, or operate the library.
var apparatus = []string{".ci", "bench", "cmd", "docs", "durable/backend/backendtest", "durable/cmd",
	"durable/postgres/pgtest", "examples", "hwttest", "inspect/browsertest", "internal/cli", "internal/enginetest", "internal/structure", "tools"}

// limit is the greatest size of the apparatus as a share of the library's. Lower it with each
// deletion.
const limit = 0.60

func main() {
	w, err := weigh("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, "weight:", err)
		os.Exit(1)
	}
	fmt.Print(w)
}

// weight is the number of lines by folder.
type weight struct{ library, apparatus map[string]int }

// weigh counts the lines below root.
func weigh(root string) (w weight, err error) {
	w = weight{make(map[string]int), make(map[string]int)}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
		switch {
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !counts(name):
			return nil
		}
		text, err := os.ReadFile(file)
		w.add(name, bytes.Count(text, []byte("\n")))
		return err
	})
	return w, err
}

func counts(name string) bool {
	switch path.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".java", ".rs", ".pml", ".sh":
		return true
	}
	return name == ".ci/run" || name == "docs/model/run" || strings.HasPrefix(name, "tools/mutate/mutants/")
}

// add counts the lines of a file. Files in other languages than Go are apparatus.
func (w weight) add(name string, lines int) {
	for _, folder := range apparatus {
		if strings.HasPrefix(name, folder+"/") {
			w.apparatus[folder] += lines
			return
		}
	}
	folder, _, nested := strings.Cut(name, "/")
	if !nested {
		folder = "."
	}
	if path.Ext(name) == ".go" {
		w.library[folder] += lines
	} else {
		w.apparatus[folder] += lines
	}
}

// share returns the size of the apparatus as a share of the library's.
func (w weight) share() float64 { return float64(sum(w.apparatus)) / float64(sum(w.library)) }

// String returns both tables.
func (w weight) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name    string
		folders map[string]int
	}{{"library", w.library}, {"apparatus", w.apparatus}} {
		fmt.Fprintf(&b, "%6d %s\n", sum(part.folders), part.name)
		names := slices.SortedFunc(maps.Keys(part.folders), func(x, y string) int {
			return cmp.Or(part.folders[y]-part.folders[x], strings.Compare(x, y))
		})
		for _, name := range names {
			fmt.Fprintf(&b, "  %6d %s\n", part.folders[name], name)
		}
	}
	fmt.Fprintf(&b, "The apparatus has %.3f of the library's lines (limit %.3f).\n", w.share(), limit)
	return b.String()
}

func sum(folders map[string]int) (n int) {
	for _, lines := range folders {
		n += lines
	}
	return n
}
