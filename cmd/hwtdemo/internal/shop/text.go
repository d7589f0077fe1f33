package shop

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/cli"
)

// Text returns the report for people.
func (r *Report) Text() string {
	t := &text{}
	t.linef("A shop took %s orders, each with one timer: a check %v after the order.",
		cli.Count(r.Created), r.CheckAfter)
	t.linef("A payment in time cancels the check; a check that fires releases what was reserved.")
	if r.Interrupted {
		t.linef("It was interrupted after %s.", cli.Duration(r.Elapsed))
	}
	r.writeOrders(t)
	r.writeTimer(t)
	r.writeLateness(t)
	return t.String()
}

// text collects lines.
type text struct{ strings.Builder }

func (t *text) linef(format string, args ...any) {
	t.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// row writes a name, a figure and a note.
func (t *text) row(name, figure, note string) { t.linef("  %-14s %14s   %s", name, figure, note) }

// count writes a row with a count.
func (t *text) count(name string, n int64, note string) { t.row(name, cli.Count(n), note) }

// writeOrders writes what became of the orders.
func (r *Report) writeOrders(t *text) {
	t.linef("\nOrders")
	t.count("created", r.Created, r.createdNote())
	t.count("paid", r.Paid, "check cancelled")
	t.count("released", r.Released, r.releasedNote())
	if r.Interrupted || r.Unprocessed > 0 {
		t.count("unprocessed", r.Unprocessed, "check still pending when the timer was stopped")
	}
	t.count("balance", r.Balance, r.balanceNote())
}

func (r *Report) createdNote() string {
	if r.Created < int64(r.Orders) {
		return fmt.Sprintf("of %s", cli.Count(int64(r.Orders)))
	}
	return ""
}

func (r *Report) releasedNote() string {
	if r.PaidTooLate == 0 {
		return "check fired"
	}
	return fmt.Sprintf("check fired; %s payments came just too late and were refused", cli.Count(r.PaidTooLate))
}

func (r *Report) balanceNote() string {
	formula := "reserved - paid - released"
	if r.Interrupted {
		formula += " - unprocessed"
	}
	note := fmt.Sprintf("%s; must be 0 (money: %s cents)", formula, cli.Count(r.Money.Rest()))
	if r.EndedTwice != 0 {
		note += fmt.Sprintf("; %s orders ended twice", cli.Count(r.EndedTwice))
	}
	return note
}

// writeTimer writes what the timer cost.
func (r *Report) writeTimer(t *text) {
	t.linef("\nTimer: %s", r.Engine)
	t.row("schedule", cli.Rate(r.Created, r.CreateTime), fmt.Sprintf(
		"a second: %s to create all orders, with %s", cli.Duration(r.CreateTime), cli.Plural(r.Producers, "producer")))
	t.row("cancel", cli.Rate(r.Cancels, r.CancelTime), r.cancelNote())
	t.row("heap", r.heap(), r.heapNote())
	t.row("CPU time", r.cpu(), fmt.Sprintf("in %s, of the whole process", cli.Duration(r.Elapsed)))
}

func (r *Report) cancelNote() string {
	if r.Cancels == 0 {
		return ""
	}
	return fmt.Sprintf("per second and payer; %s each, at random orders", cli.Duration(r.CancelTime/time.Duration(r.Cancels)))
}

func (r *Report) heap() string {
	if r.HeapPerCheck == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.1f", *r.HeapPerCheck)
}

func (r *Report) heapNote() string {
	if r.HeapPerCheck == nil {
		return r.HeapNote
	}
	return fmt.Sprintf("bytes a pending check, with %s pending", cli.Count(r.HeapPending))
}

func (r *Report) cpu() string {
	if r.CPU == nil {
		return "n/a"
	}
	return cli.Duration(r.CPU.User + r.CPU.System)
}

// writeLateness writes how late the checks were.
func (r *Report) writeLateness(t *text) {
	l := r.Lateness
	if l.Count+l.Early == 0 {
		return
	}
	t.linef("\nLateness of the %s checks that fired: from when they were due to when they ran; %s were early",
		cli.Count(l.Count), cli.Count(l.Early))
	t.linef("  p50 %s   p99 %s   p99.9 %s   max %s",
		cli.Duration(l.P50), cli.Duration(l.P99), cli.Duration(l.P999), cli.Duration(l.Max))
	t.WriteString(l.Histogram("  "))
}
