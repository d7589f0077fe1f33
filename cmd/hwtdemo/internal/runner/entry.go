package runner

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// carryOut does what row says. The caller holds mu.
func (r *Runner) carryOut(row schedule.Row) {
	switch row.Op {
	case schedule.Start:
		r.startTimeout(row)
	case schedule.Cancel:
		r.cancel(row)
	case schedule.Reset:
		r.reset(row)
	}
}

// entry is one timeout of the schedule, and the task that it runs.
type entry struct {
	r       *Runner
	row     schedule.Row
	timeout hwt.Timeout   // Guarded by r.mu.
	due     time.Duration // on the runner's clock. Guarded by r.mu.
}

// startTimeout schedules the timeout of row. The caller holds mu.
func (r *Runner) startTimeout(row schedule.Row) {
	e := &entry{r: r, row: row, due: dueOf(row)}
	timeout, err := r.timer.NewTimeout(e, e.due-r.elapsed())
	if err != nil {
		r.fail(err)
		return
	}
	e.timeout = timeout
	r.entries[row.ID] = e
	r.counts.Scheduled++
}

// cancel cancels the timeout that row names. The caller holds mu.
func (r *Runner) cancel(row schedule.Row) {
	e, ok := r.entries[row.ID]
	switch {
	case !ok:
	case e.timeout.Cancel():
		r.counts.Cancelled++
	default:
		r.tooLate(row, e)
	}
}

// reset pushes back, or brings forward, the timeout that row names. The caller
// holds mu.
func (r *Runner) reset(row schedule.Row) {
	e, ok := r.entries[row.ID]
	switch due := dueOf(row); {
	case !ok:
	case e.timeout.Reset(due - r.elapsed()):
		e.due = due
		r.counts.Reset++
	default:
		r.tooLate(row, e)
	}
}

// tooLate tells of a row whose timeout had its end. The caller holds mu.
func (r *Runner) tooLate(row schedule.Row, e *entry) {
	end := "fired"
	if e.timeout.IsCancelled() {
		end = "was cancelled"
	}
	r.counts.Late++
	r.listener.Late(row, end)
}

// dueOf returns when the timeout that row schedules or resets is due, on the
// runner's clock: its delay after the time at which the row should act, however
// late it acts.
func dueOf(row schedule.Row) time.Duration {
	if row.Delay > math.MaxInt64-row.At {
		return math.MaxInt64
	}
	return row.At + row.Delay
}

// Run tells that the timeout fired.
func (e *entry) Run(hwt.Timeout) error {
	now := e.r.elapsed()
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	e.r.fired(e, now)
	return nil
}

// fired books a firing. The caller holds mu.
func (r *Runner) fired(e *entry, now time.Duration) {
	firing := Firing{ID: e.row.ID, Message: e.row.Message, After: now, Lateness: now - e.due}
	r.counts.Fired++
	if firing.Lateness < 0 {
		r.counts.Early++
	}
	r.listener.Fired(firing)
	r.finishIfIdle()
}
