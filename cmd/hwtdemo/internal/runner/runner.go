// Package runner runs a schedule on a timer.
package runner

import (
	"context"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// Listener receives the events, one after another and in order, on the goroutine that
// calls Run. It may block: neither the timer's worker nor the rows
// wait for it.
type Listener interface {
	// Fired is called for a timeout that fired.
	Fired(Firing)

	// TooLate is called for a row that cancels or resets a timeout that has ended.
	// end is "fired" or "was cancelled".
	TooLate(row schedule.Row, end string)
}

// Firing is one timeout that fired.
type Firing struct {
	ID, Message string
	After       time.Duration // since the start
	Lateness    time.Duration // negative only if the timer is broken
}

// Counts are the results of a run.
type Counts struct {
	Scheduled int // timeouts
	Fired     int
	Cancelled int
	Reset     int // successful resets
	TooLate   int // cancels and resets of timeouts that had ended
	Early     int // of Fired, those before they were due: must be 0
}

// Runner carries out one schedule. Create it with New and use it once.
//
// Ground rules: rows act on one goroutine. mu is held while a row acts
// and while a firing is counted, so that a row sees each timeout either before or
// after its end.
type Runner struct {
	timer    hwt.Timer
	rows     []schedule.Row
	listener Listener
	start    time.Time // Written once, before the first row acts.

	mu      sync.Mutex
	next    int               // the first row that has not acted. Guarded by mu.
	entries map[string]*entry // by id, including ended ones. Guarded by mu.
	counts  Counts            // Guarded by mu.
	events  []func()          // calls of the listener to come. Guarded by mu.
	happens chan struct{}     // holds an element if there are events
}

// New returns a runner of rows, which must be in the order in which they act.
func New(timer hwt.Timer, rows []schedule.Row, listener Listener) *Runner {
	return &Runner{
		timer: timer, rows: rows, listener: listener,
		entries: make(map[string]*entry), happens: make(chan struct{}, 1),
	}
}

// Run carries out the schedule until all its timeouts have ended, or ctx ends.
// Then it stops the timer. It returns the timeouts that have not fired, the earliest
// first, and an error if the timer rejects a timeout.
func (r *Runner) Run(ctx context.Context) (Counts, []Unfired, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.start = time.Now()
	acted := make(chan error, 1)
	go func() { acted <- r.act(ctx) }()
	err := r.listen(ctx, acted)
	pending := r.timer.Stop()
	r.deliver()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts, r.unfired(pending), err
}

// listen delivers events until the rows have acted and all timeouts have ended,
// or ctx ends, or the rows fail.
func (r *Runner) listen(ctx context.Context, acted <-chan error) error {
	for acting := true; acting || r.open() > 0; {
		select {
		case <-r.happens:
			r.deliver()
		case err := <-acted:
			if acting = false; err != nil {
				return err
			}
		case <-ctx.Done():
			if acting {
				<-acted
			}
			return nil
		}
	}
	return nil
}

// act makes the rows act, each at its time.
func (r *Runner) act(ctx context.Context) error {
	for _, row := range r.rows {
		if wait := row.At - r.elapsed(); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := r.carryOut(row); err != nil {
			return err
		}
	}
	return nil
}

// open returns the number of timeouts that have not ended.
func (r *Runner) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.Scheduled - r.counts.Fired - r.counts.Cancelled
}

// post adds an event. The caller holds mu.
func (r *Runner) post(event func()) {
	r.events = append(r.events, event)
	select {
	case r.happens <- struct{}{}:
	default:
	}
}

// deliver calls the listener with the events so far.
func (r *Runner) deliver() {
	r.mu.Lock()
	events := r.events
	r.events = nil
	r.mu.Unlock()
	for _, event := range events {
		event()
	}
}

// elapsed returns the time since the start.
func (r *Runner) elapsed() time.Duration { return time.Since(r.start) }
