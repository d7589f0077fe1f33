// Package schedule reads the schedules that "hwtdemo run" fires: rows of CSV
// or lines of JSON, each of which schedules, cancels or resets one timeout.
//
// A row is one line, in either format, so that a bad row harms no other and
// every complaint can name its line. What is wrong with a row is a Problem;
// what is wrong with the file as a whole, a missing header for instance, is an
// error.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Op is what a row does.
type Op uint8

// The operations a row can name.
const (
	Start  Op = iota // "schedule": a new timeout, due delay after the row acts
	Cancel           // "cancel": the timeout shall not fire
	Reset            // "reset": the timeout is due delay after the row acts
)

var opNames = [...]string{Start: "schedule", Cancel: "cancel", Reset: "reset"}

// String returns the name of op as rows spell it.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", uint8(op))
}

// Row is one row that can be carried out.
type Row struct {
	Line    int           // where it stands, from 1
	At      time.Duration // when to act, after the start; never negative
	Op      Op            // what to do
	ID      string        // to which timeout; not empty, no control characters
	Delay   time.Duration // never negative; 0 for Cancel
	Message string        // what to say when it fires; no NUL
}

// Problem is what is wrong with one row, which was left out for it.
type Problem struct {
	Line int    // where the row stands, from 1
	Text string // what is wrong with it
}

// Schedule is what was read from one file.
type Schedule struct {
	Rows     []Row     // the good rows, in the order in which they act
	Problems []Problem // the bad ones, in the order of the file
}

// add takes in what became of one line.
func (s *Schedule) add(row Row, err error) {
	if err != nil {
		s.reject(row.Line, err.Error())
		return
	}
	s.Rows = append(s.Rows, row)
}

// reject notes that the row at line is bad.
func (s *Schedule) reject(line int, text string) {
	s.Problems = append(s.Problems, Problem{Line: line, Text: text})
}

// finish checks the ids and brings rows and problems into their order.
func (s *Schedule) finish() {
	s.checkIDs()
	slices.SortStableFunc(s.Rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// checkIDs rejects rows that schedule an id again, and rows that cancel or
// reset an id that no row has scheduled by then.
//
// Of two rows that schedule the same id the first in the file counts, whatever
// their times: a reader looks up the file for the one that was there before.
func (s *Schedule) checkIDs() {
	scheduled := s.firstOfEachID()
	s.Rows = slices.DeleteFunc(s.Rows, func(row Row) bool {
		text := faultOfID(row, scheduled)
		if text != "" {
			s.reject(row.Line, text)
		}
		return text != ""
	})
}

// firstOfEachID returns, for each id, the first row of the file to schedule it.
func (s *Schedule) firstOfEachID() map[string]Row {
	first := make(map[string]Row)
	for _, row := range s.Rows {
		if _, taken := first[row.ID]; row.Op == Start && !taken {
			first[row.ID] = row
		}
	}
	return first
}

// faultOfID says what is wrong with the id of row, or nothing.
func faultOfID(row Row, scheduled map[string]Row) string {
	first, known := scheduled[row.ID]
	switch {
	case row.Op == Start && first.Line != row.Line:
		return fmt.Sprintf("duplicate id %s: line %d schedules it already", quote(row.ID), first.Line)
	case row.Op == Start:
		return ""
	case !known:
		return fmt.Sprintf("unknown id %s: no good row schedules it", quote(row.ID))
	case !first.actsBefore(row):
		return fmt.Sprintf("unknown id %s at %v: line %d schedules it only afterwards, at %v",
			quote(row.ID), row.At, first.Line, first.At)
	}
	return ""
}

// actsBefore reports whether r acts before other: at an earlier time, or at the
// same time and further up in the file.
func (r Row) actsBefore(other Row) bool {
	return cmp.Or(cmp.Compare(r.At, other.At), cmp.Compare(r.Line, other.Line)) < 0
}
