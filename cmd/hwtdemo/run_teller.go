package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/output"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// teller writes what happens and hands firings to --exec. It is a
// runner.Listener.
type teller struct {
	c     *runCommand
	lines *output.Lines // firings, to the standard output
	notes *output.Lines // notices, to the standard error
}

// Fired writes a firing and runs the command for it.
func (t *teller) Fired(f runner.Firing) {
	if t.c.json {
		t.lines.Print(firingJSON(f))
	} else {
		t.lines.Print(firingText(f))
	}
	if t.c.pool != nil {
		t.c.pool.Submit(f.ID, f.Message)
	}
}

// Late writes a notice.
func (t *teller) Late(row schedule.Row, end string) {
	t.notes.Print(fmt.Sprintf("%s:%d: notice: %s of %s came too late: it %s already",
		t.c.name, row.Line, row.Op, printable(row.ID), end))
}

// firingText writes a firing for people.
func firingText(f runner.Firing) string {
	line := fmt.Sprintf("%9s  %-16s  %-9s  %s",
		seconds(f.After), printable(f.ID), "+"+human.Duration(f.Lateness), printable(f.Message))
	return strings.TrimRight(line, " ")
}

// firingJSON writes a firing for programs.
func firingJSON(f runner.Firing) string {
	text, err := json.Marshal(struct {
		ID       string        `json:"id"`
		Message  string        `json:"message"`
		After    time.Duration `json:"after_ns"`
		Lateness time.Duration `json:"lateness_ns"`
	}(f))
	if err != nil {
		return err.Error() // there is nothing in it that could fail
	}
	return string(text)
}

// seconds writes a time since the start, so that a column of them lines up.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// printable returns text as it is if it can be written on a line, and in quotes
// otherwise: a schedule must not be able to control the terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
