package main

import (
	"fmt"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/jobs"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
)

// summary is how a run came out.
type summary struct {
	c           *runCommand
	counts      runner.Counts
	unfired     []runner.Unfired
	jobs        jobs.Counts
	badRows     int
	interrupted bool
	err         error // what the timer or the output failed with
}

// conclude writes the summary and decides how the command ends.
func (s *summary) conclude() error {
	if s.interrupted {
		s.listUnfired()
	}
	s.write()
	switch {
	case s.counts.Early > 0:
		return fmt.Errorf("%s fired early", counted(s.counts.Early, "timeout"))
	case s.interrupted:
		return errInterrupted
	case s.err != nil:
		return s.err
	case s.badRows > 0 || s.jobs.Failed > 0:
		return errFailed
	}
	return nil
}

// listUnfired lists what had not fired, with the time that remained.
func (s *summary) listUnfired() {
	if len(s.unfired) == 0 {
		return
	}
	fmt.Fprintf(s.c.err, "Not fired, with the time that remained:\n")
	for _, u := range s.unfired {
		note := ""
		if !u.Scheduled {
			note = "(not scheduled yet) "
		}
		fmt.Fprintf(s.c.err, "%9s  %-16s  %s%s\n", human.Duration(max(0, u.Remaining)), printable(u.ID), note, printable(u.Message))
	}
}

// write writes the counts on one line.
func (s *summary) write() {
	n := s.counts
	fmt.Fprintf(s.c.err, "scheduled %d, fired %d, cancelled %d, reset %d, bad rows %d",
		n.Scheduled, n.Fired, n.Cancelled, n.Reset, s.badRows)
	s.writeIf(n.Late, "too late to cancel or reset")
	s.writeIf(len(s.unfired), "not fired")
	s.writeIf(s.jobs.Failed, "commands failed")
	s.writeIf(s.jobs.Stopped, "commands stopped")
	s.writeIf(s.jobs.NotRun, "commands not run")
	fmt.Fprintln(s.c.err)
}

// writeIf writes a count that is usually zero.
func (s *summary) writeIf(n int, what string) {
	if n > 0 {
		fmt.Fprintf(s.c.err, ", %s %d", what, n)
	}
}
