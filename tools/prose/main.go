// Command prose counts markers of hard English in comments, messages, documents and names
// of tests, per 1,000 lines of prose, and fails above the limits in limits.txt. From the
// repository's root:
//
//	go -C tools run ./prose         # the numbers by folder
//	go -C tools run ./prose -v      # and every marked line
//
// A number above its limit asks for better sentences, not for a synonym.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed limits.txt
var limitsFile string

// fewMarkers are no fault in any folder, however small.
const fewMarkers = 2

func main() {
	verbose := flag.Bool("v", false, "print every marked line")
	root := flag.String("root", "..", "the `directory` to read")
	flag.Parse()
	ok, err := check(*root, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// check prints the numbers, and reports whether they are within the limits.
func check(root string, verbose bool) (ok bool, err error) {
	limits, err := parseLimits(limitsFile)
	if err != nil {
		return false, err
	}
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
		rate, limit, verdict := 1000*marked[folder]/count[folder], limits.of(folder), ""
		if marked[folder] > fewMarkers && rate > limit {
			ok, verdict = false, "  ABOVE ITS LIMIT"
		}
		fmt.Printf("%-28s %5d lines  %4d marks  %4d per 1,000 (limit %d)%s\n", folder, count[folder], marked[folder], rate, limit, verdict)
	}
	return ok, nil
}

// limits are the numbers allowed per 1,000 lines, by folder.
type limits map[string]int

func parseLimits(text string) (limits, error) {
	l := make(limits)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("limits.txt: %q is not a folder and a number", line)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("limits.txt: %q must be a number from 0 on", fields[1])
		}
		l[fields[0]] = n
	}
	if _, found := l["default"]; !found {
		return nil, fmt.Errorf("limits.txt: no limit for default")
	}
	return l, nil
}

func (l limits) of(folder string) int {
	if n, found := l[folder]; found {
		return n
	}
	return l["default"]
}
