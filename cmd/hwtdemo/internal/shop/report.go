package shop

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Report is the result of a simulation. Its durations are nanoseconds in JSON.
type Report struct {
	Engine      string        `json:"engine"`
	Orders      int           `json:"orders"` // requested
	CheckAfter  time.Duration `json:"check_after_ns"`
	PaidPercent float64       `json:"paid_percent"` // requested
	Producers   int           `json:"producers"`
	Seed        uint64        `json:"seed"`
	Interrupted bool          `json:"interrupted"`

	Created     int64   `json:"created"`
	Paid        int64   `json:"paid"`
	Released    int64   `json:"released"`
	Unprocessed int64   `json:"unprocessed"` // checks pending at the interrupt
	PaidTooLate int64   `json:"paid_late"`   // payments that were rejected
	Balance     int64   `json:"balance"`     // reserved minus paid minus released minus unprocessed: must be 0
	EndedTwice  int64   `json:"ended_twice"` // must be 0
	Stock       Balance `json:"stock_units"` // must leave no rest
	Money       Balance `json:"money_cents"` // must leave no rest

	CreateTime   time.Duration `json:"create_ns"`              // for all orders
	ScheduleRate float64       `json:"schedules_per_second"`   // over CreateTime, all producers together
	Cancels      int64         `json:"cancels"`                // calls of Cancel
	CancelTime   time.Duration `json:"cancel_ns"`              // spent in them, summed over the payers
	CancelRate   float64       `json:"cancels_per_second"`     // of one payer, over CancelTime
	HeapPerCheck *float64      `json:"heap_bytes_per_pending"` // null if not measured
	HeapPending  int64         `json:"heap_pending"`           // checks pending when it was measured
	HeapNote     string        `json:"heap_note,omitempty"`    // why it was not measured
	CPU          *CPU          `json:"cpu"`                    // null if not known
	Elapsed      time.Duration `json:"elapsed_ns"`             // from the first order to the last end

	Lateness lateness.Summary `json:"lateness"` // of the checks that fired
}

// CPU is the processor time of the whole process, from the first order to the last
// end.
type CPU struct {
	User   time.Duration `json:"user_ns"`
	System time.Duration `json:"system_ns"`
}

// finishReport fills in the report at the end. cpu is the usage at the beginning.
func (s *Simulation) finishReport(cpu cli.CPU, interrupted bool) {
	r, c := &s.report, s.config
	r.Orders, r.CheckAfter, r.PaidPercent, r.Producers, r.Seed = c.Orders, c.CheckAfter, c.Paid, c.Producers, c.Seed
	r.Elapsed = s.shop.elapsed()
	r.Interrupted = interrupted
	if now, known := cli.CPUNow(); known {
		used := now.Sub(cpu)
		r.CPU = &CPU{User: used.User, System: used.System}
	}
	s.reportAccounts()
	s.reportRates()
	r.Lateness = s.shop.lateness.Summary()
}

// reportAccounts fills in the ends of the orders.
func (s *Simulation) reportAccounts() {
	r := &s.report
	r.Stock, r.Money = s.shop.stock.balance(), s.shop.money.balance()
	r.Created, r.Paid = r.Stock.Reserved, r.Stock.Paid
	r.Released, r.Unprocessed = r.Stock.Released, r.Stock.Unprocessed
	r.Balance = r.Stock.Rest()
	r.PaidTooLate, r.EndedTwice = s.shop.refused.Load(), s.shop.twice.Load()
}

// reportRates fills in the rates.
func (s *Simulation) reportRates() {
	r := &s.report
	for _, w := range s.workers {
		r.CancelTime += w.spent
	}
	r.Cancels = r.Paid + r.PaidTooLate
	r.ScheduleRate = perSecond(r.Created, r.CreateTime)
	r.CancelRate = perSecond(r.Cancels, r.CancelTime)
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
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
	fault(r.Stock.Rest(), "%d units of stock did not end")
	fault(r.Money.Rest(), "%d cents did not end")
	if !r.Interrupted {
		fault(r.Unprocessed, "%d checks never fired")
	}
	return errors.Join(faults...)
}
