package shop

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/cli"
)

// Report is the result of a simulation. Its durations are nanoseconds in JSON.
type Report struct {
	Engine      string        `json:"engine"`
	Orders      int           `json:"orders"` // requested
	CheckAfter  time.Duration `json:"check_after_ns"`
	Producers   int           `json:"producers"`
	Seed        uint64        `json:"seed"`
	Interrupted bool          `json:"interrupted"`

	Balance           // must leave no rest
	PaidTooLate int64 `json:"paid_late"`   // payments that were rejected
	EndedTwice  int64 `json:"ended_twice"` // must be 0

	CreateTime   time.Duration `json:"create_ns"`              // for all orders
	CancelTime   time.Duration `json:"cancel_ns"`              // in calls of Cancel, summed over the payers
	HeapPerCheck *float64      `json:"heap_bytes_per_pending"` // null if not measured
	CPU          time.Duration `json:"cpu_ns"`                 // of the whole process, from the first order to the last end
	Elapsed      time.Duration `json:"elapsed_ns"`             // from the first order to the last end

	Lateness Lateness `json:"lateness"` // of the checks that fired
}

// Lateness sums up the lateness of the checks. The quantiles are the timer's own, and at
// most half as long again as the exact ones.
type Lateness struct {
	Early int64         `json:"early"` // must be 0
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"` // exact
}

// finishReport fills in the report at the end. before is the processor time at the beginning.
func (s *Simulation) finishReport(before time.Duration, interrupted bool) {
	r, c := &s.report, s.config
	r.Orders, r.CheckAfter, r.Producers, r.Seed, r.Interrupted = c.Orders, c.CheckAfter, c.Producers, c.Seed, interrupted
	r.Elapsed = s.shop.elapsed()
	if now, known := cli.CPUTime(); known {
		r.CPU = now - before
	}
	r.Balance = s.shop.balance()
	r.PaidTooLate, r.EndedTwice = s.shop.rejected.Load(), s.shop.twice.Load()
	for _, w := range s.workers {
		r.CancelTime += w.spent
	}
	late, most := s.timer.Stats().Lateness, time.Duration(s.shop.latest.Load())
	quantile := func(q float64) time.Duration { return min(late.Quantile(q), most) }
	r.Lateness = Lateness{Early: s.shop.early.Load(), P50: quantile(0.5), P99: quantile(0.99), P999: quantile(0.999), Max: most}
}

// Err returns an error if the timer broke a promise. An interrupt is not one.
func (r *Report) Err() error {
	var faults []error
	fault := func(n int64, text string) {
		if n != 0 {
			faults = append(faults, fmt.Errorf(text, n))
		}
	}
	fault(r.Lateness.Early, "%d checks fired early")
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
	fmt.Fprintf(&t, "%s, each with a check %s later; a payment in time cancels it.\n", cli.Plural(int(r.Created), "order"), cli.Duration(r.CheckAfter))
	if r.Interrupted {
		fmt.Fprintf(&t, "Interrupted after %s.\n", cli.Duration(r.Elapsed))
	}
	t.WriteString("\nOrders\n")
	row("created", cli.Count(r.Created), "of %s", cli.Count(int64(r.Orders)))
	row("paid", cli.Count(r.Paid), "check cancelled")
	row("released", cli.Count(r.Released), "check fired; %s came too late", cli.Plural(int(r.PaidTooLate), "payment"))
	row("unprocessed", cli.Count(r.Unprocessed), "check pending when the timer stopped")
	row("balance", cli.Count(r.Rest()), "did not end: must be 0; %s ended twice", cli.Count(r.EndedTwice))

	fmt.Fprintf(&t, "\nTimer: %s\n", r.Engine)
	row("schedule", cli.Rate(r.Created, r.CreateTime), "per second; %s in all, %s", cli.Duration(r.CreateTime), cli.Plural(r.Producers, "producer"))
	row("cancel", cli.Rate(r.Paid+r.PaidTooLate, r.CancelTime), "per second and payer")
	if r.HeapPerCheck != nil {
		row("heap", fmt.Sprintf("%.1f", *r.HeapPerCheck), "bytes per pending check")
	}
	row("CPU time", cli.Duration(r.CPU), "of the process, in %s", cli.Duration(r.Elapsed))

	l := r.Lateness
	fmt.Fprintf(&t, "\nLateness of the %s checks that fired; %s were early\n", cli.Count(r.Released), cli.Count(l.Early))
	fmt.Fprintf(&t, "  p50 %s   p99 %s   p99.9 %s   max %s\n", cli.Duration(l.P50), cli.Duration(l.P99), cli.Duration(l.P999), cli.Duration(l.Max))
	return t.String()
}
