package schedule

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// csvParser parses comma-separated values, each line on its own, so that a quote
// that is not closed ends with its line.
type csvParser struct {
	columns []string      // as the header names them; nil before it
	buffer  *bufio.Reader // reused for all lines
}

// header reads the names of the columns, in any order and case.
func (p *csvParser) header(line []byte) error {
	if !utf8.Valid(line) {
		return errors.New("not UTF-8 text")
	}
	names, err := p.split(line)
	if err != nil {
		return err
	}
	for i, name := range names {
		names[i] = strings.ToLower(strings.TrimSpace(name))
		switch {
		case new(record).field(names[i]) == nil:
			return fmt.Errorf("unknown column %s in the header: the columns are %s", quote(names[i]), fieldNames)
		case slices.Contains(names[:i], names[i]):
			return fmt.Errorf("column %s is in the header twice", names[i])
		}
	}
	for _, name := range []string{"id", "delay"} {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no column %s in the header: of %s, id and delay are required", name, fieldNames)
		}
	}
	p.columns = names
	return nil
}

// parse parses a line below the header.
func (p *csvParser) parse(line []byte) (rec record, err error) {
	fields, err := p.split(line)
	if err != nil {
		return rec, err
	}
	if len(fields) != len(p.columns) {
		return rec, fmt.Errorf("wrong number of columns: %d, but the header has %d", len(fields), len(p.columns))
	}
	for i, field := range fields {
		*rec.field(p.columns[i]) = field
	}
	return rec, nil
}

// split splits a line into its fields.
func (p *csvParser) split(line []byte) ([]string, error) {
	if p.buffer == nil {
		p.buffer = bufio.NewReader(nil)
	}
	p.buffer.Reset(bytes.NewReader(line))
	reader := csv.NewReader(p.buffer)
	reader.TrimLeadingSpace = true
	fields, err := reader.Read()
	switch {
	case errors.Is(err, csv.ErrQuote):
		return nil, errors.New(`a quoted field is not closed on its line, or text follows its closing quote; ` +
			`write a quote inside it twice ("")`)
	case errors.Is(err, csv.ErrBareQuote):
		return nil, errors.New(`a quote (") inside a field that is not quoted; quote the field, and write the quote twice`)
	}
	return fields, err
}
