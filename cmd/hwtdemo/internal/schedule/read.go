package schedule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hashedwheel/hwt/internal/cli"
)

// Limits bound the memory of Read: a few times Bytes, and some hundred bytes per row.
type Limits struct {
	LineBytes int   // of a line; a longer one is a bad row
	Rows      int   // including bad ones; more are an error
	Bytes     int64 // of the input; more are an error
}

// DefaultLimits are the limits of hwtdemo.
var DefaultLimits = Limits{LineBytes: 64 << 10, Rows: 1_000_000, Bytes: 256 << 20}

// byteOrderMark is written before the first line by some editors.
const byteOrderMark = "\xef\xbb\xbf"

// Read reads a whole schedule. Bad rows are in its Problems. It returns an error if the
// reader fails, the header is bad or a limit is exceeded; a [Problem] if it has a line.
//
// A byte order mark at the start is skipped, and so are blank lines and comments.
// Lines end in LF or CRLF.
func Read(r io.Reader, limits Limits) (*Schedule, error) {
	input := &io.LimitedReader{R: r, N: limits.Bytes + 1}
	lines := bufio.NewReaderSize(input, limits.LineBytes+len(byteOrderMark)+len("\r\n"))
	reading := reading{limits: limits}
	for number := 1; ; number++ {
		line, long, err := readLine(lines)
		switch {
		case input.N == 0:
			return nil, fmt.Errorf("more than %s bytes, which is the limit", cli.Count(limits.Bytes))
		case err == io.EOF:
			return reading.end()
		case err != nil:
			return nil, err
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if err := reading.add(line, number, long || len(line) > limits.LineBytes); err != nil {
			return nil, Problem{number, err.Error()}
		}
	}
}

// readLine returns the next line without its end. If that is longer than r's
// buffer, it returns the beginning and long, and skips the rest.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, long, err = r.ReadLine()
	for more := long; more && err == nil; {
		_, more, err = r.ReadLine()
	}
	return line, long, err
}

// reading is the state of one Read.
type reading struct {
	Schedule
	csv    csvParser
	limits Limits
	rows   int // including bad ones
}

// add adds a line. It returns an error if the whole file is at fault.
func (r *reading) add(line []byte, number int, long bool) error {
	switch {
	case !long && isComment(line):
		return nil
	case r.csv.columns == nil && long:
		return r.tooLong()
	case r.csv.columns == nil:
		return r.csv.header(line)
	case r.rows == r.limits.Rows:
		return fmt.Errorf("more than %s rows, which is the limit", cli.Count(int64(r.limits.Rows)))
	}
	r.rows++
	row, err := r.parse(line, long)
	if err != nil {
		r.Problems = append(r.Problems, Problem{number, err.Error()})
		return nil
	}
	row.Line = number
	r.Rows = append(r.Rows, row)
	return nil
}

// parse turns a line into a row.
func (r *reading) parse(line []byte, long bool) (Row, error) {
	switch {
	case long:
		return Row{}, r.tooLong()
	case !utf8.Valid(line):
		return Row{}, errors.New("the line is not valid UTF-8")
	}
	rec, err := r.csv.parse(line)
	if err != nil {
		return Row{}, err
	}
	return rec.row()
}

func (r *reading) tooLong() error {
	return fmt.Errorf("the line is longer than %s bytes, which is the limit", cli.Count(int64(r.limits.LineBytes)))
}

// end is called after the last line.
func (r *reading) end() (*Schedule, error) {
	if r.csv.columns == nil {
		return nil, errors.New("no header: the first line must name the columns, such as at,op,id,delay,message")
	}
	r.finish()
	return &r.Schedule, nil
}

// isComment reports whether a line is skipped: a blank one, a lone "#" and one
// that begins with "# ". Shops write the number of an order as "#1001".
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || string(line) == "#" || bytes.HasPrefix(line, []byte("# "))
}
