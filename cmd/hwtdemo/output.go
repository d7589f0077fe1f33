package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// checkedWriter keeps the first error of a Writer. Commands need not check every write.
type checkedWriter struct {
	io.Writer
	mu  sync.Mutex
	err error // Guarded by mu.
}

// Write implements io.Writer.
func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err == nil {
		return n, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, fmt.Errorf("writing the output: %w", err))
	return n, w.err
}

// failure returns the first error, or nil.
func (w *checkedWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// report is the result of a command.
type report interface {
	Text() string // for people
	Err() error   // the broken promises of the timer, or nil
}

// conclude writes a report and returns the error with which the command ends.
func conclude(out io.Writer, r report, asJSON, interrupted bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return err
		}
	} else if _, err := io.WriteString(out, r.Text()); err != nil {
		return err
	}
	if err := r.Err(); err != nil || !interrupted {
		return err
	}
	return errInterrupted
}
