package schedule

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Format is how a schedule is written down.
type Format string

// The formats.
const (
	CSV   Format = "csv"   // comma-separated values with a header
	JSONL Format = "jsonl" // one JSON object a line
)

// ParseFormat returns the format called name.
func ParseFormat(name string) (Format, error) {
	switch format := Format(name); format {
	case CSV, JSONL:
		return format, nil
	}
	return "", fmt.Errorf("must be csv or jsonl")
}

// FormatOf tells the format of a file by the ending of its name: JSONL for
// .jsonl, .ndjson and .json, CSV for every other one.
func FormatOf(file string) Format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".jsonl", ".ndjson", ".json":
		return JSONL
	}
	return CSV
}

// parser returns a new parser of the format.
func (f Format) parser() parser {
	if f == JSONL {
		return jsonParser{}
	}
	return newCSVParser()
}
