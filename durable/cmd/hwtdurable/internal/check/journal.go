// Package check checks the promises of package durable under faults.
//
// Client processes perform random operations and write a journal of intents and outcomes.
// Worker processes append each firing to a file. Faults are injected at the same time. The
// judge then reads only the files.
package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
)

// Kind is a kind of operation.
type Kind string

// The kinds of operations.
const (
	Set        Kind = "set"
	Create     Kind = "create"
	Move       Kind = "move"
	Cancel     Kind = "cancel"
	Get        Kind = "get"
	SetIf      Kind = "setif"
	MoveIf     Kind = "moveif"
	CancelIf   Kind = "cancelif"
	Requeue    Kind = "requeue"
	Discard    Kind = "discard"
	SetMany    Kind = "setmany"    // of each key of a group
	CancelMany Kind = "cancelmany" // of each key with a prefix
	fire       Kind = "fire"       // of a worker
	bury       Kind = "bury"       // of a worker
	list       Kind = "list"       // of the dead letters, at the end
)

// Outcome is the outcome of an operation.
type Outcome string

// The outcomes. Unknown includes the absence of an answer.
const (
	OK       Outcome = "ok"
	Exists   Outcome = "exists"
	Absent   Outcome = "absent"  // not found or fired
	Invalid  Outcome = "invalid" // after NotAfter
	Conflict Outcome = "conflict"
	Rejected Outcome = "rejected" // without effect: full
	Unknown  Outcome = "unknown"
	Failed   Outcome = "failed" // an error that no fault explains
)

// The ends of a caller's transaction.
const (
	commit   = "commit"
	rollback = "rollback"
)

// Record is a line of a journal: an intent, or the outcome of the intent with the same
// number. Times are nanoseconds of the machine's clock.
type Record struct {
	Number     int64     `json:"n"`
	At         int64     `json:"at"`
	Kind       Kind      `json:"op,omitempty"` // of an intent
	Key        string    `json:"key,omitempty"`
	Tx         string    `json:"tx,omitempty"` // end of the caller's transaction, or empty without one
	If         uint64    `json:"if,omitempty"`
	Due        int64     `json:"due,omitempty"`     // requested, or of the result
	NotAfter   time.Time `json:"until,omitzero"`    // likewise
	Outcome    Outcome   `json:"out,omitempty"`     // of an outcome
	Payload    uint32    `json:"sum,omitempty"`     // checksum of the payload that was stored or returned
	Generation uint64    `json:"gen,omitempty"`     // of the result
	Letters    []Letter  `json:"letters,omitempty"` // in the order of generations
	Error      string    `json:"error,omitempty"`
	Over       bool      `json:"over,omitempty"` // no operation of this journal takes effect later
}

// Letter is a dead letter.
type Letter struct {
	Generation uint64 `json:"gen"`
	Payload    uint32 `json:"sum"`
	after      int64  // the time before which the model does not have it, or 0
}

// describe adds an entry to the answer of an operation.
func (r *Record) describe(e durable.Entry) {
	r.Due, r.NotAfter, r.Payload, r.Generation = e.Due.UnixNano(), e.NotAfter, sum(e), e.Generation
}

// sum returns the checksum by which payloads, groups, and headers are compared.
func sum(e durable.Entry) uint32 {
	return crc32.ChecksumIEEE(fmt.Appendf(nil, "%s%s%v", e.Payload, e.Group, e.Headers))
}

// Firing is a line of a worker's file: the call of a handler, or its end.
type Firing struct {
	Key        string    `json:"key"`
	Group      string    `json:"group,omitempty"`
	Due        int64     `json:"due"`
	Generation uint64    `json:"gen"`
	ID         string    `json:"id"`
	At         int64     `json:"at"`
	Worker     int       `json:"pid"`
	Attempt    int       `json:"attempt"`
	GaveUp     bool      `json:"gave_up,omitempty"` // the handler made it a dead letter
	Payload    uint32    `json:"sum"`
	NotAfter   time.Time `json:"until,omitzero"`
	Late       int64     `json:"late"`            // by the library's own account
	Begin      int64     `json:"begin,omitempty"` // of the line at the end of a handler: At of its first line
	Cut        bool      `json:"cut,omitempty"`   // the end of its context ended the handler
}

// Fault is a fault that had an effect, with the time of the effect.
type Fault struct {
	Kind       string
	Begin, End int64
	Hit        []int // processes that it may have affected; all if nil
	Stops      bool  // these stood still, or ended
	Waits      bool  // leases of other processes may have ended, with running handlers and errors that were not stored
}

// lines appends JSON lines to a file, each by one write.
type lines struct {
	mu   sync.Mutex
	file *os.File
}

func openLines(path string) (*lines, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &lines{file: f}, err
}

func (l *lines) add(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.file.Write(append(text, '\n'))
	return err
}

// addLines appends lines to a file.
func addLines[T any](path string, all ...T) error {
	l, err := openLines(path)
	if err != nil {
		return err
	}
	defer l.file.Close()
	for _, v := range all {
		if err := l.add(v); err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the complete lines of the files that match a pattern.
func readLines[T any](pattern string, each func(path string, v T)) error {
	paths, err := filepath.Glob(pattern)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(whole(text)) {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			each(path, v)
		}
	}
	return err
}

// whole returns text without a line that was cut off by the end of its process.
func whole(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }

// outcomeOf returns the outcome that an error means.
func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, durable.ErrExists):
		return Exists
	case errors.Is(err, durable.ErrNotFound), errors.Is(err, durable.ErrFired):
		return Absent
	case errors.Is(err, durable.ErrConflict):
		return Conflict
	case errors.Is(err, durable.ErrInvalid):
		return Invalid
	case errors.Is(err, durable.ErrFull):
		return Rejected
	}
	return Failed
}

func now() int64 { return time.Now().UnixNano() }

// trueTime is the time of the machine's clock, even in a process with a clock set by a test.
var trueTime = now
