package durable

import (
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// works are the Works of a store. An entry that is stored here and due soon goes straight to one of
// them, and need not wait for a look at the database.
type works struct {
	mu     sync.Mutex
	taking []*worker            // Works that take near rows. Guarded by mu.
	all    map[*worker]struct{} // running Works, draining ones included. Guarded by mu.
	turn   uint                 // Work that is offered the next near row, modulo their number. Guarded by mu.
	closed bool                 // no further Work starts. Guarded by mu.
	looked time.Time            // time of the last look for strays. Guarded by mu.
	ended  sync.Cond            // signals that all shrank
}

func newWorks() *works {
	w := &works{all: make(map[*worker]struct{})}
	w.ended.L = &w.mu
	return w
}

// add registers a Work, unless the store is closed.
func (w *works) add(added *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.taking = append(w.taking, added)
		w.all[added] = struct{}{}
	}
	return !w.closed
}

// retire stops passing near rows to a Work.
func (w *works) retire(retired *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taking = slices.DeleteFunc(w.taking, func(other *worker) bool { return other == retired })
}

// remove notes the end of a Work.
func (w *works) remove(ended *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, ended)
	w.ended.Broadcast()
}

// close ends every Work. It reports whether it is the first call, and whether the caller runs in a
// handler of one of them.
func (w *works) close() (first, inHandler bool) {
	id := goroutineID()
	w.mu.Lock()
	defer w.mu.Unlock()
	first, w.closed = !w.closed, true
	for each := range w.all {
		inHandler = inHandler || each.runsIn(id)
		each.stop(ErrClosed)
	}
	return first, inHandler
}

// wait waits for the end of every Work.
func (w *works) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.all) > 0 {
		w.ended.Wait()
	}
}

// running is the sum of running of the Works.
func (w *works) running(pattern string) (n int64, oldest time.Duration, waiting int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for each := range w.all {
		more, age, due := each.running(pattern)
		n, oldest, waiting = n+more, max(oldest, age), sooner(waiting, due)
	}
	return n, oldest, waiting
}

// look reports whether a look for strays is due a pause after the last, and notes it. Each Work asks after each pause, give or take the
// time that its goroutine waits for a processor.
func (w *works) look(now time.Time, pause time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.looked) < pause-time.Second {
		return false
	}
	w.looked = now
	return true
}

// handle reports whether a Work handles the kind of a row, and whether one of these also knows its schedule.
func (w *works) handle(row *backend.Row) (kind, schedule bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for each := range w.all {
		if k := each.flights.kinds.of(row.Key); k != nil {
			kind = true
			schedule = schedule || row.Schedule == "" || k.options.Schedules[row.Schedule] != nil
		}
	}
	return kind, schedule
}

// limited returns the number of rows that wait for limits.
func (w *works) limited() (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for each := range w.all {
		held, _ := each.limiter.held()
		n += held
	}
	return n
}

// offer passes near rows to one of the Works, in turn, and rows that it does not take to the others.
// It returns the rows that no Work takes.
func (w *works) offer(rows []backend.Row) (left []backend.Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn++
	for i := 0; i < len(w.taking) && len(rows) > 0; i++ {
		rows = w.taking[(w.turn+uint(i))%uint(len(w.taking))].fetcher.offer(rows)
	}
	return rows
}

// wake makes every Work but one look for new rows.
func (w *works) wake(except *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range w.taking {
		if each != except {
			each.fetcher.sweep.wantNow()
			each.sharer.lookNow()
		}
	}
}

// take reports whether a Work takes near rows.
func (w *works) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.taking) > 0
}
