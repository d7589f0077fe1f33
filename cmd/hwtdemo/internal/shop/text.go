package shop

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/human"
)

// Text returns the report for people.
func (r *Report) Text() string {
	t := &text{}
	t.linef("A shop took %s orders, each with one timer: a check %v after the order.",
		human.Count(r.Created), r.CheckAfter)
	t.linef("A payment in time cancels the check; a check that fires releases what was reserved.")
	if r.Interrupted {
		t.linef("It was interrupted after %s.", human.Duration(r.Elapsed))
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
func (t *text) count(name string, n int64, note string) { t.row(name, human.Count(n), note) }

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
		return fmt.Sprintf("of %s", human.Count(int64(r.Orders)))
	}
	return ""
}

func (r *Report) releasedNote() string {
	if r.PaidTooLate == 0 {
		return "check fired"
	}
	return fmt.Sprintf("check fired; %s payments came just too late and were refused", human.Count(r.PaidTooLate))
}

func (r *Report) balanceNote() string {
	formula := "reserved - paid - released"
	if r.Interrupted {
		formula += " - unprocessed"
	}
	note := fmt.Sprintf("%s; must be 0 (money: %s cents)", formula, human.Count(r.Money.Rest()))
	if r.EndedTwice != 0 {
		note += fmt.Sprintf("; %s orders ended twice", human.Count(r.EndedTwice))
	}
	return note
}

// writeTimer writes what the timer cost.
func (r *Report) writeTimer(t *text) {
	t.linef("\nTimer: %s", r.Engine)
	t.row("schedule", human.Rate(r.Created, r.CreateTime), fmt.Sprintf(
		"a second: %s to create all orders, with %s", human.Duration(r.CreateTime), human.Plural(r.Producers, "producer")))
	t.row("cancel", human.Rate(r.Cancels, r.CancelTime), r.cancelNote())
	t.row("heap", r.heap(), r.heapNote())
	t.row("CPU time", r.cpu(), fmt.Sprintf("in %s, of the whole process", human.Duration(r.Elapsed)))
}

func (r *Report) cancelNote() string {
	if r.Cancels == 0 {
		return ""
	}
	return fmt.Sprintf("per second and payer; %s each, at random orders", human.Duration(r.CancelTime/time.Duration(r.Cancels)))
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
	return fmt.Sprintf("bytes a pending check, with %s pending", human.Count(r.HeapPending))
}

func (r *Report) cpu() string {
	if r.CPU == nil {
		return "n/a"
	}
	return human.Duration(r.CPU.User + r.CPU.System)
}

// writeLateness writes how late the checks were.
func (r *Report) writeLateness(t *text) {
	l := r.Lateness
	if l.Count+l.Early == 0 {
		return
	}
	t.linef("\nLateness of the %s checks that fired: from when they were due to when they ran; %s were early",
		human.Count(l.Count), human.Count(l.Early))
	t.linef("  p50 %s   p99 %s   p99.9 %s   max %s",
		human.Duration(l.P50), human.Duration(l.P99), human.Duration(l.P999), human.Duration(l.Max))
	t.WriteString(l.Histogram("  "))
}
