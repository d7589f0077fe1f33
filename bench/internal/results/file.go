package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Write writes r to a file of JSON lines: the run, then one line per cell.
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

// Part is the file of an unfinished run: its first line is the run, and every further line
// a sample. Samples are written one by one, so an interruption loses one measurement.
type Part struct {
	file  *os.File // nil without a file
	began time.Time
	took  time.Duration // of the runs before
}

// line is a line of the file.
type line struct {
	Spec   spec.Spec     `json:"spec"`
	Sample spec.Sample   `json:"sample"`
	Took   time.Duration `json:"took"` // since the start of the run
}

// OpenPart opens the file, and adds its samples to the cells of r. A file of another
// commit, machine, or plan is an error. An empty path opens no file.
func OpenPart(path string, r *Results) (*Part, error) {
	p := &Part{began: time.Now()}
	if path == "" {
		return p, nil
	}
	if strings.HasSuffix(r.Commit, "-dirty") {
		return nil, fmt.Errorf("commit %s: the working tree has changes (expected: a commit that the results can name)", r.Commit)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p.file = file
	if err := p.resume(r); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p *Part) resume(r *Results) error {
	decoder := json.NewDecoder(p.file)
	before := new(Results)
	if err := decoder.Decode(before); errors.Is(err, io.EOF) {
		return json.NewEncoder(p.file).Encode(r)
	} else if err != nil {
		return err
	}
	if before.Commit != r.Commit || before.Command != r.Command || before.Machine.CPU != r.Machine.CPU || before.Machine.Go != r.Machine.Go {
		return fmt.Errorf("belongs to %q at commit %s on %s, %s (now: %q, %s, %s, %s; delete it to begin again)", before.Command,
			before.Commit, before.Machine.CPU, before.Machine.Go, r.Command, r.Commit, r.Machine.CPU, r.Machine.Go)
	}
	r.Date, r.Machine = before.Date, before.Machine
	end := decoder.InputOffset()
	for {
		var l line
		if err := decoder.Decode(&l); err != nil { // the last line may be incomplete
			break
		}
		if cell := r.Cell(l.Spec, l.Spec.Engine); cell != nil {
			cell.Add(l.Sample)
		}
		p.took, end = l.Took, decoder.InputOffset()
	}
	if err := p.file.Truncate(end); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	_, err := p.file.WriteString("\n")
	return err
}

// Took returns the time of the run, without interruptions.
func (p *Part) Took() time.Duration { return p.took + time.Since(p.began) }

// Add adds a sample to the cell and to the file.
func (p *Part) Add(cell *Cell, s spec.Sample) error {
	cell.Add(s)
	if p.file == nil {
		return nil
	}
	return json.NewEncoder(p.file).Encode(line{cell.Spec, s, p.Took()})
}

// Close closes the file.
func (p *Part) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// Remove removes the file of a finished run.
func (p *Part) Remove() error {
	if p.file == nil {
		return nil
	}
	if err := os.Remove(p.file.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
