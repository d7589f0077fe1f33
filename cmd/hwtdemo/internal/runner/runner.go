// Package runner carries out a schedule on a timer: the timer drives the rows,
// each at its time, and the timeouts that they schedule.
package runner

import (
	"context"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// Listener is told what happens, one thing at a time. Its methods must not
// block, since the timer's worker may be the one that calls.
type Listener interface {
	// Fired is called when a timeout fired.
	Fired(Firing)
	// Late is called when row wanted to cancel or reset a timeout that had its
	// end already; end says which: "fired" or "was cancelled".
	Late(row schedule.Row, end string)
}

// Firing is one timeout that fired.
type Firing struct {
	ID       string
	Message  string
	After    time.Duration // when, after the start
	Lateness time.Duration // when minus when it was due; below zero only if the timer is broken
}

// Counts is what was done.
type Counts struct {
	Scheduled int // timeouts
	Fired     int
	Cancelled int
	Reset     int // successful resets
	Late      int // cancels and resets of what had its end already
	Early     int // of those fired, the ones that came too early: must be 0
}

// Runner carries out one schedule. Make it with New, use it once.
//
// Ground rules: rows act on the goroutine of Run alone. mu is held while one acts
// and while a firing is told, so that a row sees each timeout either before its
// end or after it.
type Runner struct {
	timer    hwt.Timer
	rows     []schedule.Row // in the order in which they act
	listener Listener
	start    time.Time // Written once, before the first row.

	mu      sync.Mutex
	next    int               // the first row that did not act. Guarded by mu.
	entries map[string]*entry // by id, ended ones included. Guarded by mu.
	counts  Counts            // Guarded by mu.
	err     error             // what stopped the rows. Guarded by mu.
	ended   bool              // done is closed. Guarded by mu.

	wake chan struct{} // Written by the pace, one at a time; read by Run.
	done chan struct{} // Closed, once, when nothing is left to happen.
}

// New returns a runner of rows, which must be in the order in which they act
// and name ids as a schedule.Schedule does.
func New(timer hwt.Timer, rows []schedule.Row, listener Listener) *Runner {
	return &Runner{
		timer: timer, rows: rows, listener: listener,
		entries: make(map[string]*entry),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
}

// Run carries out the schedule and blocks until all its timeouts had their end,
// or ctx ends. It stops the timer in either case and returns what had not
// fired, the next due first. The error is for a timer that refuses to schedule.
func (r *Runner) Run(ctx context.Context) (Counts, []Unfired, error) {
	r.start = time.Now()
	r.actInTime(ctx)
	pending := r.entriesOf(r.timer.Stop())
	r.awaitTasks(len(pending))
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts, r.unfired(pending), r.err
}

// actInTime makes the rows act, each when the timer says so, until everything
// happened or ctx ends.
func (r *Runner) actInTime(ctx context.Context) {
	for {
		r.act(ctx)
		select {
		case <-r.wake:
		case <-r.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// entriesOf returns the entries among timeouts; the other one is the pace.
func (r *Runner) entriesOf(timeouts []hwt.Timeout) []*entry {
	var entries []*entry
	for _, timeout := range timeouts {
		if e, ok := timeout.Task().(*entry); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// awaitTasks waits for tasks that the timer started somewhere else than on its
// worker, and that were still on their way when it was stopped with so many
// pending. It gives them a second.
func (r *Runner) awaitTasks(pending int) {
	const every = 5 * time.Millisecond
	for wait := time.Second; r.open() > pending && wait > 0; wait -= every {
		time.Sleep(every)
	}
}

// open returns how many timeouts were scheduled and have had no end.
func (r *Runner) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.Scheduled - r.counts.Fired - r.counts.Cancelled
}

// elapsed is the runner's clock.
func (r *Runner) elapsed() time.Duration { return time.Since(r.start) }

// pace is the task that wakes Run for the next row. There is one timeout for it
// at a time: timeouts due in the same tick would run in any order, but rows must
// act in theirs. The rows act on Run's goroutine, since many at the same time
// would hold up the timer's worker.
type pace struct{ r *Runner }

// Run wakes Run, which has room for it: it waits, or is about to.
func (p pace) Run(hwt.Timeout) error {
	p.r.wake <- struct{}{}
	return nil
}

// act carries out the rows that are due and sets the pace for the next.
func (r *Runner) act(ctx context.Context) {
	for ctx.Err() == nil && r.actOnce() {
	}
}

// actOnce carries out the next row, or sets the pace for it. It reports whether
// there may be another row to carry out now. It holds mu for one row only, so
// that firings need not wait for many.
func (r *Runner) actOnce() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == len(r.rows) {
		r.finishIfIdle()
		return false
	}
	row := r.rows[r.next]
	if wait := row.At - r.elapsed(); wait > 0 {
		_, err := r.timer.NewTimeout(pace{r}, wait)
		r.fail(err)
		return false
	}
	if r.carryOut(row); r.err != nil {
		return false
	}
	r.next++
	return true
}

// fail notes an error of the timer, if it is one; no more rows act then. The
// caller holds mu.
func (r *Runner) fail(err error) {
	if err != nil {
		r.err = err
		r.end()
	}
}

// finishIfIdle ends the run when nothing is left to happen. The caller holds mu.
func (r *Runner) finishIfIdle() {
	idle := r.counts.Scheduled == r.counts.Fired+r.counts.Cancelled
	if r.next == len(r.rows) && idle {
		r.end()
	}
}

// end ends the run; it may be called again. The caller holds mu.
func (r *Runner) end() {
	if !r.ended {
		r.ended = true
		close(r.done)
	}
}
