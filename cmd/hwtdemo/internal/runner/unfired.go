package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// Unfired is a timeout that had not fired when the run ended.
type Unfired struct {
	ID        string
	Message   string
	Remaining time.Duration // until it would have fired; zero or less if it was due
	Scheduled bool          // false if its row had not acted
}

// unfired returns the pending timeouts of the timer and those of the remaining rows. The
// caller holds mu.
func (r *Runner) unfired(pending []hwt.Timeout) (list []Unfired) {
	now := r.elapsed()
	for _, timeout := range pending {
		e := timeout.Task().(*entry)
		list = append(list, Unfired{e.row.ID, e.row.Message, e.due - now, true})
	}
	for _, row := range r.rows[r.next:] {
		if row.Op == schedule.Start {
			list = append(list, Unfired{row.ID, row.Message, dueOf(row) - now, false})
		}
	}
	slices.SortStableFunc(list, func(a, b Unfired) int { return cmp.Compare(a.Remaining, b.Remaining) })
	return list
}
