package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/text"
	"github.com/hashedwheel/hwt/internal/cli"
)

// printer prints the events of a run. It is a runner.Listener.
type printer struct {
	streams
	input string             // for messages
	abort context.CancelFunc // ends the run
}

// Fired implements runner.Listener.
func (p *printer) Fired(f runner.Firing) {
	line := fmt.Sprintf("%8.3fs  %-16s  %-9s  %s",
		f.After.Seconds(), printable(f.ID), "+"+cli.Duration(f.Lateness), printable(f.Message))
	if _, err := fmt.Fprintln(p.out, strings.TrimRight(line, " ")); err != nil {
		p.abort()
	}
}

// TooLate implements runner.Listener.
func (p *printer) TooLate(row schedule.Row, end string) {
	fmt.Fprintf(p.err, "%s:%d: notice: %s of %s came too late: it %s already\n",
		p.input, row.Line, row.Op, printable(row.ID), end)
}

// printable quotes text that is not printable, so that a schedule cannot control the terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// writeUnfired lists the timeouts that have not fired.
func writeUnfired(w io.Writer, list []runner.Unfired) {
	if len(list) > 0 {
		fmt.Fprintln(w, "Not fired, with the time that remained:")
	}
	for _, u := range list {
		note := ""
		if !u.Scheduled {
			note = "(not scheduled yet) "
		}
		line := fmt.Sprintf("%9s  %-16s  %s%s", text.Value(cli.Duration(max(0, u.Remaining))), printable(u.ID), note, printable(u.Message))
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// writeSummary writes the counts of a run.
func writeSummary(w io.Writer, n runner.Counts, badRows, unfired int) {
	fmt.Fprintf(w, "scheduled %d, fired %d, cancelled %d, reset %d, bad rows %d",
		n.Scheduled, n.Fired, n.Cancelled, n.Reset, badRows)
	if n.TooLate > 0 {
		fmt.Fprintf(w, ", too late to cancel or reset %d", n.TooLate)
	}
	if unfired > 0 {
		fmt.Fprintf(w, ", not fired %d", unfired)
	}
	fmt.Fprintln(w)
}
