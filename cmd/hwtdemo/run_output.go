package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/jobs"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
	"github.com/hashedwheel/hwt/internal/cli"
)

// printer prints what happens and runs the command of --exec. It is a
// runner.Listener.
type printer struct {
	*runCommand
	input string // for messages
	pool  *jobs.Pool
	abort context.CancelFunc // ends the run
}

// Fired implements runner.Listener.
func (p *printer) Fired(f runner.Firing) {
	line := fmt.Sprintf("%8.3fs  %-16s  %-9s  %s",
		f.After.Seconds(), printable(f.ID), "+"+cli.Duration(f.Lateness), printable(f.Message))
	if p.json {
		text, _ := json.Marshal(f) // cannot fail: strings and numbers
		line = string(text)
	}
	if _, err := fmt.Fprintln(p.out, strings.TrimRight(line, " ")); err != nil {
		p.abort()
	}
	if p.exec != "" {
		p.pool.Submit(f.ID, f.Message)
	}
}

// TooLate implements runner.Listener.
func (p *printer) TooLate(row schedule.Row, end string) {
	fmt.Fprintf(p.err, "%s:%d: notice: %s of %s came too late: it %s already\n",
		p.input, row.Line, row.Op, printable(row.ID), end)
}

// printable returns text as it is if it can be written on a line, and in quotes
// otherwise, so that a schedule cannot control the terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// summary is the outcome of a run.
type summary struct {
	counts      runner.Counts
	unfired     []runner.Unfired
	jobs        jobs.Counts
	badRows     int
	interrupted context.Context // ended by an interrupt
	failure     error           // of the timer or of the output
}

// write writes the summary, and after an interrupt what has not fired.
func (s *summary) write(w io.Writer) {
	if s.interrupted.Err() != nil && len(s.unfired) > 0 {
		fmt.Fprintln(w, "Not fired, with the time that remained:")
		for _, u := range s.unfired {
			note := ""
			if !u.Scheduled {
				note = "(not scheduled yet) "
			}
			fmt.Fprintf(w, "%9s  %-16s  %s%s\n", cli.Duration(max(0, u.Remaining)), printable(u.ID), note, printable(u.Message))
		}
	}
	n := s.counts
	fmt.Fprintf(w, "scheduled %d, fired %d, cancelled %d, reset %d, bad rows %d",
		n.Scheduled, n.Fired, n.Cancelled, n.Reset, s.badRows)
	for _, rare := range []struct {
		name string
		n    int
	}{
		{"too late to cancel or reset", n.TooLate},
		{"not fired", len(s.unfired)},
		{"commands failed", s.jobs.Failed},
		{"commands stopped", s.jobs.Stopped},
		{"commands not run", s.jobs.NotRun},
	} {
		if rare.n > 0 {
			fmt.Fprintf(w, ", %s %d", rare.name, rare.n)
		}
	}
	fmt.Fprintln(w)
}

// err returns the error with which the command ends.
func (s *summary) err() error {
	switch {
	case s.counts.Early > 0:
		return fmt.Errorf("%s fired early", cli.Plural(s.counts.Early, "timeout"))
	case s.interrupted.Err() != nil:
		return errInterrupted
	case s.failure != nil:
		return s.failure
	case s.badRows > 0 || s.jobs.Failed > 0:
		return errFailed
	}
	return nil
}
