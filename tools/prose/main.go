// Command prose counts markers of hard English in comments, messages, documents and names
// of tests, per 1,000 lines of prose, and idioms that replace a noun, per 10,000 words. It
// fails if a folder has more than the limits. From the repository's root:
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
	"strings"
)

// limit is the greatest number of markers per 1,000 lines of a folder. Lower it when the prose
// gets better; never raise it.
const limit = 8

// The greatest number of idioms per 10,000 words, above the standard library's, of a folder of
// minFolder words. Lower them when the prose gets better; never raise them.
const (
	maxExcess      = 25
	maxExcessApart = 60 // of the folders in apart, and of tests
	minFolder      = 2000
	maxPronouns    = 260 // of all folders together, without tests
)

// apart are folders that no program imports.
var apart = []string{"bench", "docs", "examples", "tools"}

func maxExcessOf(folder string) float64 {
	if slices.Contains(apart, folder) || strings.HasSuffix(folder, "_test") {
		return maxExcessApart
	}
	return maxExcess
}

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
	count, marked, tallies := make(map[string]int), make(map[string]int), make(map[string]*tally)
	for _, l := range lines {
		count[l.folder]++
		if tallies[l.folder] == nil {
			tallies[l.folder] = new(tally)
		}
		tallies[l.folder].add(l.text)
		for _, m := range marks(l.text) {
			marked[l.folder]++
			if verbose {
				fmt.Printf("%s:%d: [%s] %s\n", l.file, l.number, m, l.text)
			}
		}
	}
	ok = true
	all := new(tally)
	for _, folder := range slices.Sorted(maps.Keys(count)) {
		if !strings.HasSuffix(folder, "_test") {
			all.words, all.pronouns = all.words+tallies[folder].words, all.pronouns+tallies[folder].pronouns
		}
		rate, excess, verdict := 1000*marked[folder]/count[folder], tallies[folder].excess(), ""
		if marked[folder] > fewMarkers && rate > limit || tallies[folder].words >= minFolder && excess > maxExcessOf(folder) {
			ok, verdict = false, "  ABOVE THE LIMIT"
		}
		fmt.Printf("%-28s %5d lines  %4d marks  %4d per 1,000 (limit %d)  %6d words  %3.0f idioms (limit %.0f)%s\n",
			folder, count[folder], marked[folder], rate, limit, tallies[folder].words, excess, maxExcessOf(folder), verdict)
	}
	rate := 10_000 * all.pronouns / max(1, all.words)
	fmt.Printf("%d pronouns per 10,000 words (limit %d)\n", rate, maxPronouns)
	return ok && rate <= maxPronouns, nil
}
