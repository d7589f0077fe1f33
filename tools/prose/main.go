// Command prose counts markers of hard English in comments, messages, documents and names
// of tests, per 1,000 lines of prose, and fails if a folder has more than the limit. From
// the repository's root:
//
//	go -C tools run ./prose         # the numbers by folder
//	go -C tools run ./prose -v      # and every marked line
//
// A number above the limit asks for better sentences, not for a synonym.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
)

// limit is the greatest number of markers per 1,000 lines of a folder. Lower it when the prose
// gets better; never raise it.
const limit = 8

// fewMarkers are no fault in any folder, however small.
const fewMarkers = 2

func main() {
	verbose := flag.Bool("v", false, "print every marked line")
	flag.Parse()
	ok, err := check("..", *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// check prints the numbers, and reports whether they are within the limit.
func check(root string, verbose bool) (ok bool, err error) {
	lines, err := read(root)
	if err != nil {
		return false, err
	}
	count, marked := make(map[string]int), make(map[string]int)
	for _, l := range lines {
		count[l.folder]++
		for _, m := range marks(l.text) {
			marked[l.folder]++
			if verbose {
				fmt.Printf("%s:%d: [%s] %s\n", l.file, l.number, m, l.text)
			}
		}
	}
	ok = true
	for _, folder := range slices.Sorted(maps.Keys(count)) {
		rate, verdict := 1000*marked[folder]/count[folder], ""
		if marked[folder] > fewMarkers && rate > limit {
			ok, verdict = false, "  ABOVE THE LIMIT"
		}
		fmt.Printf("%-28s %5d lines  %4d marks  %4d per 1,000 (limit %d)%s\n", folder, count[folder], marked[folder], rate, limit, verdict)
	}
	return ok, nil
}
