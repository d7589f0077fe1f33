// Command weight compares the size of the library with that of its apparatus, in lines
// of Go that are not tests, and of the mutants. From the repository's root:
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
	"path/filepath"
	"slices"
	"strings"
)

// apparatus lists the folders that measure, test or demonstrate the library. The command
// hwtdurable operates stores, as hwttest tests timers, for users; its packages that check,
// measure, and demonstrate are apparatus. examples are documentation, and count for
// neither side.
var (
	apparatus = []string{"bench", "cmd", "tools", "durable/backend/backendtest",
		"durable/cmd/hwtdurable/internal/check", "durable/cmd/hwtdurable/internal/measure",
		"durable/cmd/hwtdurable/internal/orders", "durable/cmd/hwtdurable/internal/proc",
		"inspect/browsertest", "internal/enginetest"}
	examples = []string{"examples", "docs"}
)

// limit is the greatest size of the apparatus as a share of the library's.
const limit = 0.5

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
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		hidden := strings.HasPrefix(entry.Name(), ".") && path != root
		switch {
		case entry.IsDir() && (hidden || entry.Name() == "testdata" || slices.Contains(examples, name)):
			return fs.SkipDir
		case entry.IsDir() || !counts(name):
			return nil
		}
		text, err := os.ReadFile(path)
		w.add(name, bytes.Count(text, []byte("\n")))
		return err
	})
	return w, err
}

func counts(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "tools/mutate/mutants/")
}

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
	w.library[folder] += lines
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
	fmt.Fprintf(&b, "The apparatus has %.2f of the library's lines (limit %.2f).\n", w.share(), limit)
	return b.String()
}

func sum(folders map[string]int) (n int) {
	for _, lines := range folders {
		n += lines
	}
	return n
}
