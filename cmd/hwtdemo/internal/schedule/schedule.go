// Package schedule reads the schedules that "hwtdemo run" fires, in CSV. Each row
// schedules, cancels or resets one timeout. A row is one line: a bad row harms no
// other, and is reported by its line.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Op is an operation, as rows spell it.
type Op string

// The operations. Start and Reset make the timeout due delay after the row acts.
const (
	Start  Op = "schedule"
	Cancel Op = "cancel"
	Reset  Op = "reset"
)

// Row is a row that can be carried out.
type Row struct {
	Line    int           // in the file, from 1
	At      time.Duration // when to act, after the start; never negative
	Op      Op
	ID      string        // of the timeout; not empty, no control characters
	Delay   time.Duration // never negative; 0 for Cancel
	Message string        // of the timeout; no NUL
}

// Problem is the fault of a line.
type Problem struct {
	Line int // in the file, from 1
	Text string
}

// Error returns the line and the text.
func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Schedule is the content of a file.
type Schedule struct {
	Rows     []Row     // the good rows, in the order in which they act
	Problems []Problem // of the bad rows, in the order of the file
}

// finish checks the ids and sorts rows and problems.
func (s *Schedule) finish() {
	s.checkIDs()
	slices.SortStableFunc(s.Rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// checkIDs rejects rows that schedule an id again, and rows that cancel or reset an id
// before a row schedules it. If two rows schedule an id, the first in the file counts.
func (s *Schedule) checkIDs() {
	first := make(map[string]Row)
	for _, row := range s.Rows {
		if _, taken := first[row.ID]; row.Op == Start && !taken {
			first[row.ID] = row
		}
	}
	s.Rows = slices.DeleteFunc(s.Rows, func(row Row) bool {
		text := idFault(row, first)
		if text != "" {
			s.Problems = append(s.Problems, Problem{row.Line, text})
		}
		return text != ""
	})
}

// idFault describes the fault of row's id, or returns "".
func idFault(row Row, scheduled map[string]Row) string {
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
