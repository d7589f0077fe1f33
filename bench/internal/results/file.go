package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Write writes r to a file of JSON lines: the run, then one line per cell. An interruption
// leaves the file as it was.
func (r *Results) Write(path string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	if err := encoder.Encode(r); err != nil {
		return err
	}
	for _, cell := range r.Cells {
		if err := encoder.Encode(cell); err != nil {
			return err
		}
	}
	if err := os.WriteFile(path+".new", text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Read reads results from a file. The error names the file.
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

// Resume takes over the samples of an interrupted run from its file, if there is one. A file
// of another commit, machine, or command is an error.
func (r *Results) Resume(path string) error {
	before, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if before.Commit != r.Commit || before.Command != r.Command || before.Machine.CPU != r.Machine.CPU || before.Machine.Go != r.Machine.Go {
		return fmt.Errorf("%s belongs to %q at commit %s on %s, %s (now: %q, %s, %s, %s; delete it to begin again)", path, before.Command,
			before.Commit, before.Machine.CPU, before.Machine.Go, r.Command, r.Commit, r.Machine.CPU, r.Machine.Go)
	}
	r.Date, r.Machine, r.Took = before.Date, before.Machine, before.Took
	for _, cell := range r.Cells {
		if known := before.Cell(cell.Spec, cell.Engine); known != nil {
			*cell = *known
		}
	}
	return nil
}
