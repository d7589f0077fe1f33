package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Write writes r to a file of JSON values: the run, a line long, and then a line a
// cell.
func (r *Results) Write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	encoder := json.NewEncoder(f)
	if err := encoder.Encode(r); err != nil {
		return err
	}
	for _, cell := range r.Cells {
		if err := encoder.Encode(cell); err != nil {
			return err
		}
	}
	return f.Close()
}

// Read reads results from a file. A file that is broken gives an error and nothing
// else, since what is read may be written over what was measured.
func Read(path string) (*Results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := read(json.NewDecoder(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func read(decoder *json.Decoder) (*Results, error) {
	r := new(Results)
	if err := decoder.Decode(r); err != nil {
		return nil, err
	}
	for {
		cell := new(Cell)
		switch err := decoder.Decode(cell); {
		case errors.Is(err, io.EOF) && len(r.Cells) > 0:
			return r, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("holds no measurements")
		case err != nil:
			return nil, err
		}
		r.Cells = append(r.Cells, cell)
	}
}
