package schedule

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvParser parses comma-separated values, the columns being where the header
// says.
//
// It keeps one csv.Reader and feeds it a line at a time, so that a quote that is
// never closed ends with its line instead of swallowing the rows after it.
type csvParser struct {
	feed    *feeder
	reader  *csv.Reader
	columns []int // columns[i] is what the i-th field of a line is
}

func newCSVParser() *csvParser {
	feed := &feeder{}
	reader := csv.NewReader(feed)
	reader.FieldsPerRecord = -1 // counted in parse, with a better message
	reader.TrimLeadingSpace = true
	reader.ReuseRecord = true
	return &csvParser{feed: feed, reader: reader}
}

// header reads the names of the columns, which may stand in any order.
func (p *csvParser) header(line string) error {
	names, err := p.split(line)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.addColumn(strings.ToLower(strings.TrimSpace(name))); err != nil {
			return err
		}
	}
	return p.requireColumns(colID, colDelay)
}

// addColumn takes in the name of the next column.
func (p *csvParser) addColumn(name string) error {
	i, ok := column(name)
	if !ok {
		return fmt.Errorf("unknown column %s in the header: %s", quote(name), columnList)
	}
	if p.has(i) {
		return fmt.Errorf("column %s stands twice in the header", name)
	}
	p.columns = append(p.columns, i)
	return nil
}

// requireColumns complains about the first of needed that the header lacks.
func (p *csvParser) requireColumns(needed ...int) error {
	for _, i := range needed {
		if !p.has(i) {
			return fmt.Errorf("no column %s in the header: %s, of which id and delay must be there",
				columnNames[i], columnList)
		}
	}
	return nil
}

// has reports whether the header named column i.
func (p *csvParser) has(i int) bool {
	return slices.Contains(p.columns, i)
}

// parse reads one line.
func (p *csvParser) parse(line string, number int) (Row, error) {
	fields, err := p.split(line)
	if err != nil {
		return Row{Line: number}, err
	}
	if len(fields) != len(p.columns) {
		return Row{Line: number}, fmt.Errorf("wrong number of columns: %d, but the header has %d",
			len(fields), len(p.columns))
	}
	var rec record
	for i, field := range fields {
		rec[p.columns[i]] = strings.Clone(field)
	}
	return rec.row(number)
}

// split cuts a line into its fields, which are valid until the next call.
func (p *csvParser) split(line string) ([]string, error) {
	p.feed.rest = line
	fields, err := p.reader.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	return fields, nil
}

// csvFault says in a user's words what the csv package complains of.
func csvFault(err error) error {
	switch {
	case errors.Is(err, csv.ErrQuote):
		return errors.New(`a quoted field is not closed on its line, or goes on after its closing quote; ` +
			`write a quote inside it twice (""), and put line breaks into JSON lines instead`)
	case errors.Is(err, csv.ErrBareQuote):
		return errors.New(`a quote (") inside a field that is not quoted; quote the field, and write the quote twice`)
	}
	return err
}

// feeder hands a csv.Reader one line, then the end of the input, then the next
// line.
type feeder struct {
	rest string
}

// Read reads from the line.
func (f *feeder) Read(p []byte) (int, error) {
	if f.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}
