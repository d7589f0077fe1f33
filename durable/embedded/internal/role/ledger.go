package role

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
)

// Entry is a firing as a handler wrote it into a ledger.
type Entry struct {
	ID         string
	Generation uint64
	Key        string
	Due, At    time.Time
	Attempt    int
}

// EntryOf returns the entry of a firing that a handler works on at a time.
func EntryOf(f durable.Firing, at time.Time) Entry {
	return Entry{f.ID, f.Generation, f.Key, f.Due, f.Due.Add(f.Lateness), f.Attempt}.at(at)
}

func (e Entry) at(at time.Time) Entry {
	if at.Before(e.Due) { // the totals show it as early
		e.At = at
	}
	return e
}

// String returns the entry's line.
func (e Entry) String() string {
	return fmt.Sprintf("%s %d %q %d %d %d\n", e.ID, e.Generation, e.Key, e.Due.UnixNano(), e.At.UnixNano(), e.Attempt)
}

func parseEntry(line string) (Entry, error) {
	var e Entry
	var due, at int64
	if _, err := fmt.Sscanf(line, "%s %d %q %d %d %d", &e.ID, &e.Generation, &e.Key, &due, &at, &e.Attempt); err != nil {
		return e, fmt.Errorf("ledger: %s: %w", strconv.Quote(line), err)
	}
	e.Due, e.At = time.Unix(0, due), time.Unix(0, at)
	return e, nil
}

// Ledger reads a ledger as it grows.
type Ledger struct {
	path   string
	offset int64
}

// NewLedger returns a reader of the ledger at path, which need not exist yet.
func NewLedger(path string) *Ledger { return &Ledger{path: path} }

// Next returns the entries that were added since the last call.
func (l *Ledger) Next() ([]Entry, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	l.offset += int64(len(text))
	var out []Entry
	for line := range strings.Lines(string(text)) {
		e, err := parseEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}
