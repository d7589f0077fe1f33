package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// jsonParser parses lines that are a JSON object each, with the columns of the
// CSV form as fields.
type jsonParser struct{}

// parse reads one line.
func (jsonParser) parse(line string, number int) (Row, error) {
	rec, err := decode(line)
	if err != nil {
		return Row{Line: number}, err
	}
	return rec.row(number)
}

// decode turns a JSON object into a record.
func decode(line string) (rec record, err error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		return rec, fmt.Errorf("not a JSON object: %w", plain(err))
	}
	if object == nil {
		return rec, errors.New("not a JSON object: null")
	}
	for _, name := range sortedKeys(object) {
		if err := rec.set(name, object[name]); err != nil {
			return rec, err
		}
	}
	return rec, nil
}

// plain puts an error of the json package into words without Go's types.
func plain(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New(wrong.Value)
	}
	return err
}

// sortedKeys returns the keys in order, so that a row with two faults is always
// blamed for the same one.
func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// set stores the value of the field called name. A null is as good as absent.
func (rec *record) set(name string, value any) error {
	i, ok := column(name)
	if !ok {
		return fmt.Errorf("unknown field %s: the fields are at, op, id, delay and message", quote(name))
	}
	text, ok := value.(string)
	if !ok && value != nil {
		return fmt.Errorf("field %s must be a string%s", name, hint(i))
	}
	rec[i] = text
	return nil
}

// hint shows what the string in column i looks like, where that is not obvious.
func hint(i int) string {
	if i == colAt || i == colDelay {
		return `, such as "1m30s"`
	}
	return ""
}
