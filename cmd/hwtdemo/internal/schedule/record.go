package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The columns of a record, in the order of the documentation.
const (
	colAt = iota
	colOp
	colID
	colDelay
	colMessage
	columnCount
)

var columnNames = [columnCount]string{"at", "op", "id", "delay", "message"}

// columnList is what complaints about columns end in.
const columnList = "the columns are at, op, id, delay and message"

// column returns the column called name.
func column(name string) (int, bool) {
	for i, known := range columnNames {
		if known == name {
			return i, true
		}
	}
	return 0, false
}

// record is a row as text, whatever the format; what is absent is empty.
type record [columnCount]string

// row turns the text into a Row, or says what is wrong with it.
func (rec record) row(line int) (Row, error) {
	row := Row{Line: line, ID: strings.TrimSpace(rec[colID]), Message: rec[colMessage]}
	var err error
	if row.Op, err = parseOp(rec[colOp]); err != nil {
		return row, err
	}
	if err = checkTexts(row); err != nil {
		return row, err
	}
	if row.At, err = parseDuration("at", rec[colAt]); err != nil {
		return row, err
	}
	row.Delay, err = rec.delay(row.Op)
	return row, err
}

// delay reads the delay, which schedule and reset must have. A cancel has no
// use for one: it may be there, but it must be a duration all the same.
func (rec record) delay(op Op) (time.Duration, error) {
	text := strings.TrimSpace(rec[colDelay])
	if text == "" && op != Cancel {
		return 0, fmt.Errorf("no delay: %v needs one, such as 1m30s", op)
	}
	delay, err := parseDuration("delay", text)
	if op == Cancel {
		delay = 0
	}
	return delay, err
}

// parseOp reads an operation; none means schedule.
func parseOp(text string) (Op, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Start, nil
	}
	for op, name := range opNames {
		if text == name {
			return Op(op), nil
		}
	}
	return 0, fmt.Errorf("unknown op %s: it must be schedule, cancel or reset", quote(text))
}

// parseDuration reads a duration that is not negative; none means zero.
func parseDuration(name, text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s %s is not a duration such as 250ms, 5s or 1m30s", name, quote(text))
	}
	if d < 0 {
		return 0, fmt.Errorf("%s %s is negative: it must be 0 or more", name, quote(text))
	}
	return d, nil
}

// checkTexts refuses what could not be printed on a line or handed to a command
// as it is.
func checkTexts(row Row) error {
	switch {
	case row.ID == "":
		return fmt.Errorf("no id: %v needs one", row.Op)
	case strings.ContainsFunc(row.ID, unicode.IsControl):
		return fmt.Errorf("id %s holds a control character", quote(row.ID))
	case strings.ContainsRune(row.Message, 0):
		return fmt.Errorf("message %s holds a NUL", quote(row.Message))
	}
	return nil
}

// longestQuote is how many bytes of a value a complaint repeats.
const longestQuote = 40

// quote returns text in quotes, shortened if it is long.
func quote(text string) string {
	if len(text) <= longestQuote {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ToValidUTF8(text[:longestQuote], "")) + "..."
}
