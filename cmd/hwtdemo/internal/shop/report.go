package shop

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Balance is the account of the orders at one moment.
type Balance struct {
	Created, Paid, Released int64
	Unprocessed             int64 // check pending when the timer was stopped
}

// Rest returns the number of orders that have not ended.
func (b Balance) Rest() int64 { return b.Created - b.Paid - b.Released - b.Unprocessed }

// Report is the result of a simulation.
type Report struct {
	Size        Config
	Interrupted bool

	Balance           // must leave no rest
	PaidTooLate int64 // payments that were rejected
	EndedTwice  int64 // must be 0
	Early       int64 // checks that fired early: must be 0

	CreateTime time.Duration // for all orders
	CancelTime time.Duration // in calls of Cancel, summed over the payers
	CPU        time.Duration // of the whole process, from the first order to the last end
	Elapsed    time.Duration // from the first order to the last end

	Lateness hwt.Histogram // of the checks that fired; the timer's own
	Latest   time.Duration // the greatest lateness, exact
}

// count fills in the counts at the end.
func (s *Simulation) count(r *Report) {
	r.Balance, r.PaidTooLate, r.EndedTwice, r.Early = s.Progress(), s.rejected.Load(), s.twice.Load(), s.early.Load()
	r.CancelTime, r.Lateness, r.Latest = time.Duration(s.cancel.Load()), s.timer.Stats().Lateness, time.Duration(s.latest.Load())
}

// Err returns an error if the timer broke a promise. An interrupt is not one.
func (r *Report) Err() error {
	var faults []error
	fault := func(n int64, text string) {
		if n != 0 {
			faults = append(faults, fmt.Errorf(text, n))
		}
	}
	fault(r.Early, "%d checks fired early")
	fault(r.EndedTwice, "%d orders ended twice")
	fault(r.Rest(), "%d orders did not end")
	if !r.Interrupted {
		fault(r.Unprocessed, "%d checks never fired")
	}
	return errors.Join(faults...)
}

// Text returns the report for people.
func (r *Report) Text() string {
	var t strings.Builder
	row := func(name, number, note string, args ...any) {
		line := fmt.Sprintf("  %-12s %14s   %s", name, number, fmt.Sprintf(note, args...))
		t.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&t, "%s, each with a check %s later; a payment in time cancels it.\n", cli.Plural(int(r.Created), "order"), cli.Duration(r.Size.CheckAfter))
	if r.Interrupted {
		fmt.Fprintf(&t, "Interrupted after %s.\n", cli.Duration(r.Elapsed))
	}
	t.WriteString("\nOrders\n")
	row("created", cli.Count(r.Created), "of %s", cli.Count(int64(r.Size.Orders)))
	row("paid", cli.Count(r.Paid), "check cancelled")
	row("released", cli.Count(r.Released), "check fired; %s came too late", cli.Plural(int(r.PaidTooLate), "payment"))
	row("unprocessed", cli.Count(r.Unprocessed), "check pending when the timer stopped")
	row("balance", cli.Count(r.Rest()), "did not end: must be 0; %s ended twice", cli.Count(r.EndedTwice))

	t.WriteString("\nTimer\n")
	row("schedule", cli.Rate(r.Created, r.CreateTime), "per second; %s in all, %s", cli.Duration(r.CreateTime), cli.Plural(r.Size.Producers, "producer"))
	row("cancel", cli.Rate(r.Paid+r.PaidTooLate, r.CancelTime), "per second and payer")
	row("CPU time", cli.Duration(r.CPU), "of the process, in %s", cli.Duration(r.Elapsed))

	late := func(q float64) string { return cli.Duration(min(r.Lateness.Quantile(q), r.Latest)) }
	fmt.Fprintf(&t, "\nLateness of the %s checks that fired; %s were early\n", cli.Count(r.Released), cli.Count(r.Early))
	fmt.Fprintf(&t, "  p50 %s   p99 %s   p99.9 %s   max %s\n", late(0.5), late(0.99), late(0.999), cli.Duration(r.Latest))
	return t.String()
}
