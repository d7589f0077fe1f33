package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// Unfired is a timeout that had not fired when the run was interrupted.
type Unfired struct {
	ID        string
	Message   string
	Remaining time.Duration // until it would have fired; zero or less if it was due
	Scheduled bool          // false if its row had not acted yet
}

// unfired lists what the timer had pending and what its rows would still have
// scheduled. The caller holds mu.
func (r *Runner) unfired(pending []*entry) []Unfired {
	now := r.elapsed()
	var list []Unfired
	for _, e := range pending {
		list = append(list, unfiredOf(e.row, e.due-now, true))
	}
	for _, row := range r.rows[r.next:] {
		if row.Op == schedule.Start {
			list = append(list, unfiredOf(row, dueOf(row)-now, false))
		}
	}
	slices.SortStableFunc(list, func(a, b Unfired) int { return cmp.Compare(a.Remaining, b.Remaining) })
	return list
}

func unfiredOf(row schedule.Row, remaining time.Duration, scheduled bool) Unfired {
	return Unfired{ID: row.ID, Message: row.Message, Remaining: remaining, Scheduled: scheduled}
}
