// Command caches compares package cache with otter and golang-lru, and writes docs/caches.md.
// A run takes a minute on a quiet machine:
//
//	go -C bench run ./caches --out ../docs
//	go -C bench run ./caches --quick
package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/harness"
	"github.com/hashedwheel/hwt/internal/cli"
)

func main() {
	harness.Main("caches", func(_ string, fast bool) (string, error) {
		if fast {
			return quick.page()
		}
		return full.page()
	})
}

const intro = `# Caches

This page is written by %[1]sgo -C bench run ./caches --out ../docs%[1]s. Edit %[1]sbench/caches%[1]s to
change it. It was measured with %[2]s on %[3]d cores.

The caches have %[4]s entries with a TTL of %[5]v minutes. × is a value over ours.
`

// page measures, and returns the page.
func (l load) page() (string, error) {
	w := new(strings.Builder)
	fmt.Fprintf(w, intro, "`", runtime.Version(), runtime.GOMAXPROCS(0), cli.Count(int64(l.entries)), ttl.Minutes())
	fmt.Fprintf(w, "\n## Time, ns per operation\n\nTwo goroutines look up and set known keys, chosen by a Zipf distribution with exponent 1.01. "+
		"Values are medians of %d rounds, in which the caches take turns.\n\n", l.rounds)
	header(w, true)
	for _, limit := range []int{0, l.entries} {
		for _, sets := range []int{0, 10, 100} {
			ns, err := l.times(limit, sets)
			if err != nil {
				return "", err
			}
			row(w, fmt.Sprintf("%d %% sets%s", sets, withLimit(limit)), ns, true)
		}
	}
	fmt.Fprint(w, "\n## Heap, bytes per entry\n\n")
	header(w, true)
	for _, limit := range []int{0, l.entries} {
		bytes, err := l.heaps(limit)
		if err != nil {
			return "", err
		}
		row(w, "an entry"+withLimit(limit), bytes, true)
	}
	fmt.Fprint(w, "\n## Hit rate, %\n\nThe caches have room for a tenth of the entries. A key that is not found is set.\n\n")
	header(w, false)
	for _, t := range l.traces() {
		percent, err := l.hits(t)
		if err != nil {
			return "", err
		}
		row(w, t.name, percent, false)
	}
	fmt.Fprint(w, loops)
	return w.String(), nil
}

const loops = `
In a loop over more keys than there is room for, SIEVE and LRU evict each key just before
it is looked up again. otter also counts how often keys are used, and keeps a part of
them.
`

func withLimit(limit int) string {
	if limit == 0 {
		return ""
	}
	return ", with a limit"
}

// header writes the first lines of a table, with columns for ratios or without.
func header(w io.Writer, ratios bool) {
	head, rule := "| |", "|:--|"
	for i, r := range rivals {
		head, rule = head+" "+r.name+" |", rule+"--:|"
		if ratios && i > 0 {
			head, rule = head+" × |", rule+"--:|"
		}
	}
	fmt.Fprintln(w, head+"\n"+rule)
}

// row writes a line of a table.
func row(w io.Writer, name string, figures []float64, ratios bool) {
	fmt.Fprintf(w, "| %s |", name)
	for i, figure := range figures {
		fmt.Fprintf(w, " %s |", cli.Number(figure))
		if ratios && i > 0 {
			fmt.Fprintf(w, " %s |", cli.Number(figure/figures[0]))
		}
	}
	fmt.Fprintln(w)
}
