package runner

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// entry is one timeout of the schedule, and its task.
type entry struct {
	r       *Runner
	row     schedule.Row
	timeout hwt.Timeout   // Guarded by r.mu.
	due     time.Duration // since the start. Guarded by r.mu.
}

// carryOut executes row.
func (r *Runner) carryOut(row schedule.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row.Op == schedule.Start {
		if err := r.schedule(row); err != nil {
			return err
		}
	} else {
		r.change(r.entries[row.ID], row)
	}
	r.next++
	return nil
}

// schedule schedules the timeout of row. The caller holds mu.
func (r *Runner) schedule(row schedule.Row) (err error) {
	e := &entry{r: r, row: row, due: dueOf(row)}
	if e.timeout, err = r.timer.NewTimeout(e, e.due-r.elapsed()); err != nil {
		return err
	}
	r.entries[row.ID] = e
	r.counts.Scheduled++
	return nil
}

// change cancels or resets e. The caller holds mu.
func (r *Runner) change(e *entry, row schedule.Row) {
	switch due := dueOf(row); {
	case row.Op == schedule.Cancel && e.timeout.Cancel():
		r.counts.Cancelled++
	case row.Op == schedule.Reset && e.timeout.Reset(due-r.elapsed()):
		e.due = due
		r.counts.Reset++
	default:
		end := "fired"
		if e.timeout.IsCancelled() {
			end = "was cancelled"
		}
		r.counts.TooLate++
		r.post(func() { r.listener.TooLate(row, end) })
	}
}

// dueOf returns when the timeout that row schedules or resets is due, after the
// start. It counts from when the row should act, however late it acts.
func dueOf(row schedule.Row) time.Duration {
	return row.At + min(row.Delay, math.MaxInt64-row.At)
}

// Run implements hwt.TimerTask.
func (e *entry) Run(hwt.Timeout) error {
	r, now := e.r, e.r.elapsed()
	r.mu.Lock()
	defer r.mu.Unlock()
	firing := Firing{ID: e.row.ID, Message: e.row.Message, After: now, Lateness: now - e.due}
	r.counts.Fired++
	if firing.Lateness < 0 {
		r.counts.Early++
	}
	r.post(func() { r.listener.Fired(firing) })
	return nil
}
