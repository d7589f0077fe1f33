package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// line is a line of prose.
type line struct {
	file, folder string
	number       int
	text         string
}

// read collects the prose below root: comments and messages of Go files, the names of
// tests, and Markdown.
func read(root string) (all []line, err error) {
	err = walk(root, func(name string, text []byte) {
		switch {
		case strings.HasSuffix(name, ".md"):
			all = append(all, readMarkdown(name, string(text))...)
		case strings.HasSuffix(name, ".go"):
			all = append(all, readGo(name, text)...)
		}
	})
	return all, err
}

// self are the files whose patterns and examples are marked themselves.
var self = []string{"tools/prose/marks.go", "tools/prose/prose_test.go"}

// walk calls each with every file below root, except hidden ones and test data.
func walk(root string, each func(name string, text []byte)) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(self, name) || !slices.Contains([]string{".go", ".md"}, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil {
			each(name, text)
		}
		return err
	})
}

// folderOf returns the folder that a file counts for: the first element of its path,
// and the second, too, below internal. Tests count separately, as cache_test.
func folderOf(name string) string {
	parts := strings.Split(path.Dir(name), "/")
	folder := parts[0]
	if folder == "internal" && len(parts) > 1 {
		folder += "/" + parts[1]
	}
	if strings.HasSuffix(name, "_test.go") {
		folder += "_test"
	}
	return folder
}

func readMarkdown(name, text string) (all []line) {
	fenced := false
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "```"):
			fenced = !fenced
		case !fenced && l != "":
			all = append(all, line{name, folderOf(name), i + 1, l})
		}
	}
	return all
}

// minWords is the number of words from which a string literal is a message.
const minWords = 4

func readGo(name string, source []byte) (all []line) {
	files := token.NewFileSet()
	file := files.AddFile(name, files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for previous := token.EOF; ; {
		pos, tok, literal := s.Scan()
		text, isFunc := "", previous == token.FUNC
		previous = tok
		switch tok {
		case token.EOF:
			return all
		case token.COMMENT:
			text = strings.TrimPrefix(literal, "//")
			if strings.HasPrefix(text, "go:") {
				continue
			}
		case token.STRING:
			text, _ = strconv.Unquote(literal) // the scanner has checked it
			if len(strings.Fields(text)) < minWords {
				continue
			}
		case token.IDENT:
			if isFunc {
				text = testName(literal)
			}
		default:
			continue
		}
		for i, l := range strings.Split(text, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				all = append(all, line{name, folderOf(name), files.Position(pos).Line + i, l})
			}
		}
	}
}

var capital = regexp.MustCompile(`[A-Z]`)

// testName returns a test's name and its words. For other functions, it returns "".
func testName(function string) string {
	name, isTest := strings.CutPrefix(function, "Test")
	if !isTest || name == "" {
		return ""
	}
	return function + ": " + name[:1] + strings.ToLower(capital.ReplaceAllString(name[1:], " $0"))
}
