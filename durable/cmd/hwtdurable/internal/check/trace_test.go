package check

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// call is a system call that strace recorded. Begin and End are line numbers.
type call struct {
	name       string
	file       string // its base name
	data       []byte // written
	offset     int64  // of a write; new length of a truncation; -1 at the end of the file
	begin, end int
}

// traced are the arguments of strace.
func traced(path string) []string {
	return []string{"strace", "-f", "-qq", "-y", "-xx", "-s", "10000000", "-o", path,
		"-e", "trace=pwrite64,write,fsync,fdatasync,ftruncate"}
}

// readTrace reads the calls on regular files in dir, in the order of their begins, and
// the number of lines.
func readTrace(path, dir string) (calls []*call, lines int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	open := make(map[string]*call) // unfinished, by process
	for r := bufio.NewReaderSize(f, 1<<20); ; lines++ {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return calls, lines, nil
		}
		if err != nil {
			return nil, 0, err
		}
		pid, text, _ := strings.Cut(line, " ")
		text = strings.TrimLeft(text, " ")
		if strings.HasPrefix(text, "<... ") {
			if c := open[pid]; c != nil && !strings.Contains(text, " = -1 ") {
				c.end = lines
				delete(open, pid)
			}
			continue
		}
		c, err := parseCall(text, dir)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: line %d: %w", path, lines+1, err)
		}
		if c == nil {
			delete(open, pid)
			continue
		}
		c.begin, c.end = lines, lines
		if strings.Contains(text, "<unfinished ...>") {
			c.end = never
			open[pid] = c
		}
		calls = append(calls, c)
	}
}

// never is the end of a call that did not return.
const never = int(^uint(0) >> 1)

// parseCall parses a line such as
//
//	pwrite64(7</tmp/x/store.db-wal>, "\x37\x7f", 2, 4096) = 2
//
// It returns nil for calls on other files and for calls that failed.
func parseCall(text, dir string) (*call, error) {
	name, args, ok := strings.Cut(text, "(")
	_, file, ok2 := strings.Cut(args, "<")
	file, rest, ok3 := strings.Cut(file, ">")
	if !ok || !ok2 || !ok3 || strings.Contains(rest, " = -1 ") {
		return nil, nil
	}
	file = unhex(file)
	if filepath.Dir(file) != dir {
		return nil, nil
	}
	c := &call{name: name, file: filepath.Base(file), offset: -1}
	if _, data, ok := strings.Cut(rest, `"`); ok {
		var err error
		var tail string
		data, tail, _ = strings.Cut(data, `"`)
		if c.data, err = hex.DecodeString(strings.ReplaceAll(data, `\x`, "")); err != nil {
			return nil, err
		}
		rest = tail
	}
	if name == "pwrite64" || name == "ftruncate" {
		numbers := strings.FieldsFunc(strings.SplitN(rest, ")", 2)[0], func(r rune) bool { return r == ',' || r == ' ' })
		numbers = strings.Fields(strings.ReplaceAll(strings.Join(numbers, " "), "<unfinished ...>", ""))
		var err error
		if c.offset, err = strconv.ParseInt(numbers[len(numbers)-1], 10, 64); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// unhex decodes a path, in which -xx makes every byte \xNN.
func unhex(path string) string {
	if !strings.HasPrefix(path, `\x`) {
		return path
	}
	text, err := hex.DecodeString(strings.ReplaceAll(path, `\x`, ""))
	if err != nil {
		return path
	}
	return string(text)
}
