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

// errTooLarge is wrapped by the error for an input that is over the limit.
var errTooLarge = errors.New("too large")

// byteOrderMark is what some editors put before the first line.
var byteOrderMark = []byte("\xef\xbb\xbf")

// lines cuts an input of limited size into lines of limited length.
type lines struct {
	r      *bufio.Reader
	limit  int    // of a line
	most   int64  // of the input
	size   int64  // of what was read so far
	number int    // of the line that next returned last, from 1
	line   []byte // reused for each line
}

func newLines(r io.Reader, limits Limits) *lines {
	return &lines{r: bufio.NewReader(r), limit: limits.LineBytes, most: limits.Bytes}
}

// next returns the next line without its end; it is valid until the next call.
// For a line over the limit, which it skips, the error wraps errLongLine; for one
// that takes the input over its limit, errTooLarge; after the last line it is
// io.EOF.
func (l *lines) next() ([]byte, error) {
	length, err := l.read()
	if l.size > l.most {
		l.number++
		return nil, fmt.Errorf("%w: %d bytes up to here, and the limit is %d bytes", errTooLarge, l.size, l.most)
	}
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

// read reads up to the end of the line, or to where the input is too large, and
// returns its length. It keeps no more than the limit, an end of line and a byte
// order mark allow.
func (l *lines) read() (length int, err error) {
	l.line = l.line[:0]
	room := l.limit + len("\r\n") + len(byteOrderMark)
	for {
		part, err := l.r.ReadSlice('\n')
		length += len(part)
		l.size += int64(len(part))
		l.line = append(l.line, part[:min(len(part), room-len(l.line))]...)
		if err != bufio.ErrBufferFull || l.size > l.most {
			return length, err
		}
	}
}
