package soak

import (
	"fmt"

	"github.com/hashedwheel/hwt"
)

// check waits until the last tasks are done, and returns the faults of the round.
func (r *round) check(seen *statsWatcher) (found []string) {
	waitUntil(r.atRest, patience)
	s := r.timer.Stats()
	violated := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if !r.allCalled(s) {
		violated("%d expired, but %d tasks ran; %d cancelled tasks had to be called, %d were; the executor dropped %d",
			s.Expired, r.ran.Load(), r.toNotify.Load(), r.notified.Load(), r.dropped.Load())
	}
	if lost, early, twice := r.unended(), r.early.Load(), r.twice.Load(); lost != 0 || early != 0 || twice != 0 {
		violated("%d lost, %d early, %d ended twice", lost, early, twice)
	}
	if s.Accepted != r.accepted.Load() || s.Pending != 0 || s.Unprocessed != r.unprocessed.Load() ||
		s.Accepted != s.Expired+s.Cancelled+s.Unprocessed {
		violated("the counts do not add up: %d accepted, %d unprocessed, and %+v", r.accepted.Load(), r.unprocessed.Load(), s)
	}
	if text := r.wrong.text(); text != "" {
		violated("%s", text)
	}
	if seen.fault != "" {
		violated("%s", seen.fault)
	}
	return found
}

// atRest reports whether a stopped timer rests. Tasks may still be running, and one of
// them may be in the Stop that takes the pending timeouts.
func (r *round) atRest() bool {
	s := r.timer.Stats()
	return r.busy.Load() == 0 && s.Pending == 0 && r.unprocessed.Load() == s.Unprocessed && r.allCalled(s)
}

// allCalled reports whether every task was called that expired, and every task
// with a Cancelled method that was cancelled, except as many as the executor
// dropped.
func (r *round) allCalled(s hwt.Stats) bool {
	notRun, notNotified := s.Expired-r.ran.Load(), r.toNotify.Load()-r.notified.Load()
	return notRun >= 0 && notNotified >= 0 && notRun+notNotified == r.dropped.Load()
}
