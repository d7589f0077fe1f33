package shop

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/text"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Text returns the report for people, on a terminal of 80x24.
func (r *Report) Text() string {
	t := &text.Builder{}
	t.Linef("%s, each with a check %s later; a payment in time cancels it.", cli.Plural(int(r.Created), "order"), text.Value(r.CheckAfter))
	if r.Interrupted {
		t.Linef("Interrupted after %s.", cli.Duration(r.Elapsed))
	}
	r.writeOrders(t)
	r.writeTimer(t)
	r.writeLateness(t)
	return t.String()
}

// writeOrders writes the ends of the orders.
func (r *Report) writeOrders(t *text.Builder) {
	t.Linef("\nOrders")
	t.Row("created", cli.Count(r.Created), r.createdNote())
	t.Row("paid", cli.Count(r.Paid), "check cancelled")
	t.Row("released", cli.Count(r.Released), r.releasedNote())
	if r.Interrupted || r.Unprocessed > 0 {
		t.Row("unprocessed", cli.Count(r.Unprocessed), "check pending when the timer stopped")
	}
	balance := fmt.Sprintf("orders that did not end, and %s cents: must be 0", cli.Count(r.Money.Rest()))
	if r.EndedTwice != 0 {
		balance += fmt.Sprintf("; %s orders ended twice", cli.Count(r.EndedTwice))
	}
	t.Row("balance", cli.Count(r.Balance), balance)
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
	return fmt.Sprintf("check fired; %s came too late", cli.Plural(int(r.PaidTooLate), "payment"))
}

// writeTimer writes the cost of the timer.
func (r *Report) writeTimer(t *text.Builder) {
	t.Linef("\nTimer: %s", r.Engine)
	t.Row("schedule", cli.Rate(r.Created, r.CreateTime), fmt.Sprintf(
		"per second; %s in all, %s", cli.Duration(r.CreateTime), cli.Plural(r.Producers, "producer")))
	cancel := ""
	if r.Cancels > 0 {
		cancel = fmt.Sprintf("per second and payer; %s each", cli.Duration(r.CancelTime/time.Duration(r.Cancels)))
	}
	t.Row("cancel", cli.Rate(r.Cancels, r.CancelTime), cancel)
	heap, note := "n/a", r.HeapNote
	if r.HeapPerCheck != nil {
		heap = fmt.Sprintf("%.1f", *r.HeapPerCheck)
		note = fmt.Sprintf("bytes per check, with %s pending", cli.Count(r.HeapPending))
	}
	t.Row("heap", heap, note)
	cpu := "n/a"
	if r.CPU != nil {
		cpu = cli.Duration(r.CPU.User + r.CPU.System)
	}
	t.Row("CPU time", cpu, fmt.Sprintf("of the process, in %s", cli.Duration(r.Elapsed)))
}

// writeLateness writes the lateness of the checks.
func (r *Report) writeLateness(t *text.Builder) {
	l := r.Lateness
	if l.Count+l.Early == 0 {
		return
	}
	t.Linef("\nLateness of the %s checks that fired; %s were early", cli.Count(l.Count), cli.Count(l.Early))
	t.Linef("  p50 %s   p99 %s   p99.9 %s   max %s",
		cli.Duration(l.P50), cli.Duration(l.P99), cli.Duration(l.P999), cli.Duration(l.Max))
	t.WriteString(l.Histogram())
}
