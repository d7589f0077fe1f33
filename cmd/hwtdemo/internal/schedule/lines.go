package schedule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errLongLine is wrapped by the error for a line that is over the limit.
var errLongLine = errors.New("line is too long")

// byteOrderMark is what some editors put before the first line.
var byteOrderMark = []byte("\xef\xbb\xbf")

// lines cuts an input into lines of limited length.
type lines struct {
	r      *bufio.Reader
	limit  int
	number int    // of the line that next returned last, from 1
	line   []byte // reused for each line
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReader(r), limit: limit}
}

// next returns the next line without its end; it is valid until the next call.
// For a line over the limit, which it skips, the error wraps errLongLine; after
// the last line it is io.EOF.
func (l *lines) next() ([]byte, error) {
	length, err := l.read()
	if err != nil && !(err == io.EOF && length > 0) {
		return nil, err
	}
	l.number++
	if l.number == 1 {
		l.line = bytes.TrimPrefix(l.line, byteOrderMark)
	}
	line := bytes.TrimSuffix(bytes.TrimSuffix(l.line, []byte("\n")), []byte("\r"))
	if length > len(l.line)+len(byteOrderMark) || len(line) > l.limit {
		return nil, fmt.Errorf("%w: the limit is %d bytes", errLongLine, l.limit)
	}
	return line, nil
}

// read reads up to the end of the line and returns its length. It keeps no more
// than the limit, an end of line and a byte order mark allow.
func (l *lines) read() (length int, err error) {
	l.line = l.line[:0]
	room := l.limit + len("\r\n") + len(byteOrderMark)
	for {
		part, err := l.r.ReadSlice('\n')
		length += len(part)
		l.line = append(l.line, part[:min(len(part), room-len(l.line))]...)
		if err != bufio.ErrBufferFull {
			return length, err
		}
	}
}
