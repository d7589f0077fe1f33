package durable

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A crash leaves the claimed rows of the worker to be adopted, and nobody knows which of them, if any, has
// killed the process. All of these suspects stay claimed, and are tried few at a time: the rows that wait for
// their trial count no further crash (see backend.Row.Tried). Most rows have one crash and are
// innocent: trialSize of them are tried together. A row that has crashed again is tried alone. An entry
// therefore counts at most two crashes of one neighbor.
const (
	trialSize = 100

	// trialFor is the time after which the next trial begins even if handlers of the last one still run.
	// A handler that hangs must not keep the other suspects from firing.
	trialFor = 10 * time.Second
)

// tried is the trial of all Works of the process, whatever their stores, since a crash ends all of them.
var tried trial

// trial are the suspects that are tried.
type trial struct {
	mu    sync.Mutex
	rows  []*flight // Guarded by mu.
	of    *flights  // table of the rows. Guarded by mu.
	began time.Time // Guarded by mu.
}

// begin makes rows of a table the trial, unless a trial is under way.
func (t *trial) begin(of *flights, rows []*flight) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := time.Since(t.began) // negative if the trial began in another bubble of testing/synctest
	if slices.ContainsFunc(t.rows, func(h *flight) bool { return t.of.has(h) }) && age >= 0 && age < trialFor {
		return false
	}
	t.rows, t.of, t.began = slices.Clone(rows), of, time.Now()
	return true
}

// leave takes a row out of the trial: its claim was not answered, or is to wait.
func (t *trial) leave(h *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = slices.DeleteFunc(t.rows, func(other *flight) bool { return other == h })
}

// end ends the trial if its rows are of the table of a Work that has ended, and forgets the table.
func (t *trial) end(of *flights) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == of {
		t.rows, t.of = nil, nil
	}
}

// suspects are the adopted rows of a Work that wait for their trial.
type suspects struct {
	together []*flight
	alone    []*flight
}

// add adds a row.
func (s *suspects) add(h *flight) {
	h.move(suspected)
	if h.row.Crashes > 1 || h.row.Crashes > 0 && h.kind.options.MaxCrashes == 2 {
		s.alone = append(s.alone, h)
	} else {
		s.together = append(s.together, h)
	}
}

// next begins the next trial, and returns its rows. The order of rows that are tried alone is random, so
// that a row with a long handler does not meet the same row each time.
func (s *suspects) next(t *trial, of *flights) []*flight {
	if n := min(trialSize, len(s.together)); n > 0 && t.begin(of, s.together[:n]) {
		return takeFirst(&s.together, n)
	}
	if len(s.together) > 0 || len(s.alone) == 0 {
		return nil
	}
	i := rand.IntN(len(s.alone))
	if !t.begin(of, s.alone[i:i+1]) {
		return nil
	}
	s.alone[0], s.alone[i] = s.alone[i], s.alone[0]
	return takeFirst(&s.alone, 1)
}

// size returns the number of rows.
func (s *suspects) size() int { return len(s.together) + len(s.alone) }

// clear removes all rows and returns them.
func (s *suspects) clear() []*flight {
	all := slices.Concat(s.together, s.alone)
	*s = suspects{}
	return all
}
