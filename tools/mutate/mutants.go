package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// mutant is one way to break the library.
type mutant struct {
	file     string   // below the repository's root
	breaks   string   // the rule or promise that it breaks
	tests    []string // packages whose tests must fail, as paths in the module; by default that of file
	run      string   // the pattern of the necessary tests; empty for all
	module   string   // whose tests; empty for the module of file
	from, to string   // from occurs exactly once in file
}

// data holds the mutants, in this form. The line with the tests is optional for packages of the
// root module, and so are -run and -C:
//
//	== internal/engine/timeout.go: never early
//	test ./internal/engine ./hashedwheel -run Early -C .
//	-the text, in one line or several,
//	-that is replaced
//	+by this one
//
//go:embed mutants/*.txt
var data embed.FS

// mutants returns all of them, in the order of the files.
func mutants() (all []mutant, err error) {
	files, err := fs.Glob(data, "mutants/*.txt")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := data.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, block := range strings.Split("\n"+string(text), "\n== ")[1:] {
			m, err := parse(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", file, strings.SplitN(block, "\n", 2)[0], err)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// parse parses a block, without the marker of its first line.
func parse(block string) (m mutant, err error) {
	var from, to []string
	for i, line := range strings.Split(strings.TrimRight(block, "\n"), "\n") {
		rest, isTest := strings.CutPrefix(line, "test ")
		switch {
		case i == 0:
			m.file, m.breaks, _ = strings.Cut(line, ": ")
		case isTest:
			m.parseTest(strings.Fields(rest))
		case strings.HasPrefix(line, "-"):
			from = append(from, line[1:])
		case strings.HasPrefix(line, "+"):
			to = append(to, line[1:])
		case line != "":
			return m, fmt.Errorf("unknown line %q", line)
		}
	}
	m.from, m.to = strings.Join(from, "\n"), strings.Join(to, "\n")
	if m.breaks == "" || m.from == "" {
		return m, fmt.Errorf("a promise and a text to replace are required")
	}
	if len(m.tests) == 0 {
		m.tests = []string{"./" + path.Dir(m.file)}
	}
	return m, nil
}

// parseTest reads the arguments of a test line.
func (m *mutant) parseTest(words []string) {
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "-run" && i+1 < len(words):
			i++
			m.run = words[i]
		case words[i] == "-C" && i+1 < len(words):
			i++
			m.module = words[i]
		default:
			m.tests = append(m.tests, words[i])
		}
	}
}
