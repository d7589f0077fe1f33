package durable

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Series is a recurring entry, and the last run of its handler.
type Series struct {
	Entry // the pending occurrence

	// Last is the run that was the last to end, or nil if no run has ended since the entry was set.
	Last *Run
}

// Run is a call of the handler for an entry.
type Run struct {
	Due     time.Time     // when the attempt was due
	Began   time.Time     // when the handler was called, on the database's clock, or zero if there was no call
	Took    time.Duration // until the handler returned
	Attempt int           // number of the attempt, from 1
	Outcome Outcome
	Error   string // text of the handler's error, or of the DeadLetter, up to 1 KB
}

// Reason returns the reason for which the entry became a dead letter, or 0 if Outcome is not GaveUp.
func (r *Run) Reason() Reason {
	if r.Outcome != GaveUp {
		return 0
	}
	return reasonOf(r.Error)
}

// Ended is an attempt that has ended, or an entry that became a dead letter without an attempt. See
// WorkOptions.OnOutcome.
type Ended struct {
	Entry
	ID  string // ID of the firing
	Run Run
}

// Outcome is the end of a [Run].
type Outcome int

const (
	Succeeded Outcome = iota // the handler returned nil, or Tx.Done was committed before its error
	Retried                  // the handler failed; another attempt follows
	GaveUp                   // the entry is a dead letter; see Reason for the cause
)

var outcomeNames = map[Outcome]string{Succeeded: "succeeded", Retried: "retried", GaveUp: "gave up"}

// String returns "succeeded", "retried", or "gave up".
func (o Outcome) String() string { return cmp.Or(outcomeNames[o], fmt.Sprintf("Outcome(%d)", int(o))) }

// outcomes are the outcomes by the fate of the row.
var outcomes = map[backend.Fate]Outcome{backend.Done: Succeeded, backend.Retry: Retried, backend.Bury: GaveUp}

// encode returns the column Last of a row: a checksum, and the fields of the run.
func (r *Run) encode() string {
	text := fmt.Sprintf("%d %d %d %d %d %s", r.Due.UnixNano(), r.Began.UnixNano(), int64(r.Took), r.Attempt, int(r.Outcome), r.Error)
	return fmt.Sprintf("%08x %s", crc32.ChecksumIEEE([]byte(text)), text)
}

// decodeRun returns the run of a column, or nil if the column is empty.
func decodeRun(last string) (*Run, error) {
	if last == "" {
		return nil, nil
	}
	sum, text, _ := strings.Cut(last, " ")
	parts := strings.SplitN(text, " ", 6)
	if len(parts) != 6 || sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) {
		return nil, fmt.Errorf("%w: last run: %.64q", ErrDamaged, last)
	}
	var due, began int64
	r := &Run{Error: parts[5]}
	_, err := fmt.Sscan(strings.Join(parts[:5], " "), &due, &began, (*int64)(&r.Took), &r.Attempt, (*int)(&r.Outcome))
	if err != nil || r.Outcome < Succeeded || r.Outcome > GaveUp {
		return nil, fmt.Errorf("%w: last run: %.64q", ErrDamaged, last)
	}
	r.Due, r.Began = time.Unix(0, due).UTC(), time.Unix(0, began).UTC()
	return r, nil
}
