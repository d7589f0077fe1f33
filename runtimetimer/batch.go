package runtimetimer

import (
	"iter"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// clockEvery is the number of timeouts of a batch that share a reading of the clock.
const clockEvery = 64

// NewTimeouts schedules all of the tasks or none, as [hwt.Engine] describes. The timeouts
// have one deadline.
//
// It holds one shard of the timer until all are scheduled.
func (t *Timer) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	t.check()
	switch {
	case slices.ContainsFunc(tasks, enginekit.IsNilTask):
		return nil, hwt.ErrNilTask
	case t.stopped.Load():
		return nil, hwt.ErrStopped
	case len(tasks) == 0:
		return nil, nil
	}
	deadline, n := t.clock.Deadline(delay), int64(len(tasks))
	if err := t.limit.Take(n); err != nil {
		return nil, err
	}
	timeouts := t.anyShard().addAll(len(tasks), slices.Chunk(tasks, clockEvery), deadline)
	if timeouts == nil {
		t.limit.Give(n)
		return nil, hwt.ErrStopped
	}
	return timeouts, nil
}

// addAll returns pending timeouts for n tasks, or nil if the timer was stopped. The tasks
// of a chunk share a reading of the clock.
func (s *shard) addAll(n int, chunks iter.Seq[[]hwt.TimerTask], deadline int64) []hwt.Timeout {
	timeouts, caller := make([]hwt.Timeout, 0, n), s.timer.callers.Caller()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer.stopped.Load() {
		return nil
	}
	s.checkSide(int64(n))
	for chunk := range chunks {
		delay := s.left(deadline)
		for _, task := range chunk {
			t := s.newTimeout(task, caller)
			s.insert(t, delay, deadline)
			timeouts = append(timeouts, t)
		}
	}
	return timeouts
}
