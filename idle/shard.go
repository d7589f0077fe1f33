package idle

import (
	"sync"
	"time"
)

// padding keeps what shards write on cache lines of their own.
const padding = 128

// shard is a part of the reaper's watches, so that connections made and closed
// on many processors do not queue for one lock.
type shard struct {
	reaper *Reaper   // Immutable after NewReaper.
	start  time.Time // Immutable after NewReaper.
	_      [padding]byte

	mu     sync.Mutex
	open   set    // cohorts with room. Guarded by mu.
	full   set    // cohorts without. Guarded by mu.
	closed bool   // Guarded by mu.
	counts counts // Guarded by mu.
	_      [padding]byte
}

// now is the time since the reaper was made, in nanoseconds.
func (s *shard) now() int64 { return int64(time.Since(s.start)) }

// add begins to watch w.
func (s *shard) add(w *Watch) {
	s.mu.Lock()
	s.counts.accepted++
	if s.closed {
		s.counts.dismissed++
		s.turnAway(w)
		s.mu.Unlock()
		return
	}
	c := s.roomy()
	err := c.add(w, s.now())
	s.tidy(c)
	s.mu.Unlock()
	s.reaper.refused(err)
}

// turnAway ends w, which came after the reaper was closed.
func (s *shard) turnAway(w *Watch) {
	h := s.reaper.farewell()
	if w.life.endAny(h); h == shut {
		s.reaper.closers.take([]victim{{w, s.now()}})
	}
}

// remove takes w out, whose life its Release has ended.
func (s *shard) remove(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := w.cohort
	if c == nil {
		return // the reaper was closed, or its timer stopped, and has counted it
	}
	s.counts.released++
	c.vacate(w)
	s.tidy(c)
}

// setTimeout changes the timeout of w. Of one that is out of its cohort it is
// kept, since that is the timeout by which the reaper ended it.
func (s *shard) setTimeout(w *Watch, timeout time.Duration) {
	if timeout <= 0 {
		timeout = s.reaper.timeout
	}
	s.mu.Lock()
	var err error
	if c := w.cohort; c != nil {
		w.timeout.Store(int64(timeout))
		err = c.hasten(w, s.now())
		s.tidy(c)
	}
	s.mu.Unlock()
	s.reaper.refused(err)
}

// close lets go of all watches, and has them closed if the reaper closes all.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	h := s.reaper.farewell()
	for _, cohorts := range []*set{&s.open, &s.full} {
		for _, c := range *cohorts {
			c.disarm()
			if victims := c.dismiss(h); h == shut {
				s.reaper.closers.take(victims)
			}
		}
		*cohorts = nil
	}
}

// roomy returns a cohort with room.
func (s *shard) roomy() *cohort {
	if n := len(s.open); n > 0 {
		return s.open[n-1]
	}
	c := &cohort{shard: s, due: never}
	s.open.add(c)
	return c
}

// tidy moves c, whose members have changed, to the set where it belongs. Of the
// empty ones a single one is kept, for the next to come.
func (s *shard) tidy(c *cohort) {
	belongs := &s.open
	switch {
	case s.closed:
		return
	case c.n == cohortLen:
		belongs = &s.full
	case c.n == 0:
		c.disarm()
		if len(s.open) > 1 || c.set == &s.full && len(s.open) > 0 {
			belongs = nil
		}
	}
	if c.set == belongs {
		return
	}
	if c.set != nil {
		c.set.remove(c)
	}
	if belongs != nil {
		belongs.add(c)
	}
}

// set is an unordered set of cohorts. Guarded by shard.mu.
type set []*cohort

func (s *set) add(c *cohort) {
	c.set, c.index = s, len(*s)
	*s = append(*s, c)
}

func (s *set) remove(c *cohort) {
	last := len(*s) - 1
	moved := (*s)[last]
	(*s)[c.index], moved.index = moved, c.index
	(*s)[last] = nil
	*s = (*s)[:last]
	c.set = nil
}
