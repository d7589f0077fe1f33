package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Limits bound what Read takes in, so that no input, however made, exhausts
// the machine: what is held is a few times Bytes, and some hundred bytes a row.
type Limits struct {
	LineBytes int   // longest line; a longer one is a bad row
	Rows      int   // most rows, bad ones included; more are an error
	Bytes     int64 // of the whole input, lines that are skipped included; more are an error
}

// DefaultLimits are the limits of hwtdemo.
var DefaultLimits = Limits{LineBytes: 64 << 10, Rows: 1_000_000, Bytes: 256 << 20}

// parser turns the lines of one format into rows.
type parser interface {
	// parse reads one line.
	parse(line string, number int) (Row, error)
}

// headedParser is a parser of a format whose first line is a header.
type headedParser interface {
	parser
	// header reads the first line.
	header(line string) error
}

// Read reads a whole schedule. Bad rows are in its Problems; the error is for
// what makes the rest of the input meaningless, and for failing reads. Its text
// is without the name of the file.
//
// A byte order mark at the start is skipped, and so are lines that are blank or
// begin with "# " (or are a lone "#"). Lines end in LF or CRLF.
func Read(r io.Reader, format Format, limits Limits) (*Schedule, error) {
	lines := newLines(r, limits)
	reading := newReading(format, limits)
	for {
		line, err := lines.next()
		switch {
		case err == io.EOF:
			return reading.end()
		case errors.Is(err, errTooLarge):
			return nil, &FileError{Line: lines.number, Err: err}
		case err != nil && !errors.Is(err, errLongLine):
			return nil, err
		}
		if err := reading.take(line, lines.number, err); err != nil {
			return nil, &FileError{Line: lines.number, Err: err}
		}
	}
}

// FileError is an error that concerns the file as a whole and was seen at Line.
type FileError struct {
	Line int
	Err  error
}

// Error names the line and what is wrong.
func (e *FileError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without its line.
func (e *FileError) Unwrap() error { return e.Err }

// reading is the state of one Read.
type reading struct {
	schedule Schedule
	parser   parser
	headed   headedParser // the parser while it waits for its header, or nil
	limits   Limits
	rows     int // rows so far, bad ones included
}

func newReading(format Format, limits Limits) *reading {
	r := &reading{parser: format.parser(), limits: limits}
	r.headed, _ = r.parser.(headedParser)
	return r
}

// take takes in one line; long is not nil if it was over the limit.
func (r *reading) take(line []byte, number int, long error) error {
	if long == nil && isComment(line) {
		return nil
	}
	if r.headed != nil {
		return r.takeHeader(line, long)
	}
	if r.rows++; r.rows > r.limits.Rows {
		return fmt.Errorf("more than %d rows, which is the limit", r.limits.Rows)
	}
	r.schedule.add(r.parse(line, number, long))
	return nil
}

// takeHeader hands the first line to the parser that waits for it.
func (r *reading) takeHeader(line []byte, long error) error {
	parser := r.headed
	r.headed = nil
	switch {
	case long != nil:
		return fmt.Errorf("no header: %w", long)
	case !utf8.Valid(line):
		return errors.New("not a text in UTF-8")
	}
	return parser.header(string(line))
}

// parse turns one line into a row.
func (r *reading) parse(line []byte, number int, long error) (Row, error) {
	if long != nil {
		return Row{Line: number}, long
	}
	if !utf8.Valid(line) {
		return Row{Line: number}, errors.New("line is not valid UTF-8")
	}
	return r.parser.parse(string(line), number)
}

// end is called after the last line.
func (r *reading) end() (*Schedule, error) {
	if r.headed != nil {
		return nil, errors.New("no header: the first line must name the columns, such as at,op,id,delay,message")
	}
	r.schedule.finish()
	return &r.schedule, nil
}

// isComment reports whether a line is to be skipped. "#1001" is not a comment:
// that is how shops write the number of an order.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || string(line) == "#" || bytes.HasPrefix(line, []byte("# "))
}
