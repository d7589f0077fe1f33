package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// record is a row as text. An absent field is empty.
type record struct{ At, Op, ID, Delay, Message string }

const fieldNames = "at, op, id, delay and message"

// field returns the field of that name, or nil.
func (rec *record) field(name string) *string {
	switch name {
	case "at":
		return &rec.At
	case "op":
		return &rec.Op
	case "id":
		return &rec.ID
	case "delay":
		return &rec.Delay
	case "message":
		return &rec.Message
	}
	return nil
}

// row turns the text into a Row.
func (rec *record) row() (row Row, err error) {
	row = Row{ID: strings.TrimSpace(rec.ID), Message: rec.Message}
	if row.Op, err = parseOp(rec.Op); err != nil {
		return row, err
	}
	switch {
	case row.ID == "":
		return row, fmt.Errorf("no id: %v needs one", row.Op)
	case strings.ContainsFunc(row.ID, unicode.IsControl):
		return row, fmt.Errorf("id %s holds a control character", quote(row.ID))
	case strings.ContainsRune(row.Message, 0):
		return row, fmt.Errorf("message %s holds a NUL", quote(row.Message))
	}
	if row.At, err = parseDuration("at", rec.At); err != nil {
		return row, err
	}
	if row.Op != Cancel && strings.TrimSpace(rec.Delay) == "" {
		return row, fmt.Errorf("no delay: %v needs one, such as 1m30s", row.Op)
	}
	if row.Delay, err = parseDuration("delay", rec.Delay); row.Op == Cancel {
		row.Delay = 0 // it has no meaning there
	}
	return row, err
}

// parseOp reads an operation; an empty one means schedule.
func parseOp(text string) (Op, error) {
	switch op := Op(strings.TrimSpace(text)); op {
	case "":
		return Start, nil
	case Start, Cancel, Reset:
		return op, nil
	}
	return "", fmt.Errorf("unknown op %s: it must be schedule, cancel or reset", quote(strings.TrimSpace(text)))
}

// parseDuration reads a duration that is not negative; an empty one means zero.
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

// longestQuote is the number of bytes of a value that an error repeats.
const longestQuote = 40

// quote returns text in quotes, shortened if it is long.
func quote(text string) string {
	if len(text) <= longestQuote {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ToValidUTF8(text[:longestQuote], "")) + "..."
}
