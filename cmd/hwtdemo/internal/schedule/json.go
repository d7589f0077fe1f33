package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parseJSON parses a line that is a JSON object with the columns of the CSV form
// as fields. A null counts as absent.
func parseJSON(line []byte) (rec record, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rec); err != nil {
		return rec, jsonFault(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return rec, errors.New("not a JSON object: more follows it")
	}
	return rec, nil
}

// jsonFault words an error of package json for the user.
func jsonFault(err error) error {
	var wrong *json.UnmarshalTypeError
	text, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case isUnknown:
		return fmt.Errorf("unknown field %s: the fields are %s", text, fieldNames)
	case !errors.As(err, &wrong):
		return fmt.Errorf("not a JSON object: %w", err)
	case wrong.Field == "":
		return fmt.Errorf("not a JSON object: %s", wrong.Value)
	}
	text = "field " + wrong.Field + " must be a string"
	if wrong.Field == "at" || wrong.Field == "delay" {
		text += `, such as "1m30s"`
	}
	return errors.New(text)
}
