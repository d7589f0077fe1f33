package idle

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// shard holds a part of a reaper's watches. Connections that are created and closed
// on different processors seldom wait for the same lock.
type shard struct {
	reaper *Reaper   // Immutable after New.
	start  time.Time // Immutable after New.
	_      [cacheline.Padding]byte

	mu     sync.Mutex
	open   groupSet // groups with room for more watches. Guarded by mu.
	full   groupSet // groups without room. Guarded by mu.
	closed bool     // Guarded by mu.
	counts counts   // Guarded by mu.
	_      [cacheline.Padding]byte
}

// now returns the nanoseconds since New.
func (s *shard) now() int64 { return int64(time.Since(s.start)) }

// add starts watching with w.
func (s *shard) add(w *Watch) {
	open, err := s.addLocked(w)
	switch {
	case open:
		s.reaper.refused(err)
	case w.Err() == nil:
		s.reaper.warn(fmt.Errorf("idle: not watching %s: %w", typeOf(w.closer), ErrClosed))
	}
}

// addLocked is add under the lock. It returns false if the reaper is closed, and the
// error of the timer.
func (s *shard) addLocked(w *Watch) (open bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.accepted++
	if s.closed {
		s.reject(w)
		return false, nil
	}
	g := s.openGroup()
	defer s.place(g) // even if the timer panics
	return true, g.add(w, s.now())
}

// reject ends w because the reaper is closed. Guarded by mu.
func (s *shard) reject(w *Watch) {
	s.counts.dropped++
	reason := s.reaper.closeReason()
	if w.state.endAny(reason); reason == endClosed {
		s.reaper.closePool.add([]expired{{w, s.now()}}) // under mu: see Reaper.Stats
	}
}

// remove removes w from its group after a Stop.
func (s *shard) remove(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := w.group
	if g == nil {
		return // the reaper was closed or the timer stopped; w is counted
	}
	s.counts.stopped++
	g.remove(w)
	s.place(g)
}

// setTimeout changes the timeout of w. setTimeout does nothing after w has left the group,
// so that Timeout still returns the timeout that ended w.
func (s *shard) setTimeout(w *Watch, timeout time.Duration) {
	if timeout <= 0 {
		timeout = s.reaper.timeout
	}
	s.reaper.refused(s.setTimeoutLocked(w, timeout))
}

// setTimeoutLocked is setTimeout under the lock. It returns the error of the timer.
func (s *shard) setTimeoutLocked(w *Watch, timeout time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := w.group
	if g == nil {
		return nil
	}
	w.timeout.Store(int64(timeout))
	defer s.place(g)
	return g.armBy(w, s.now())
}

// close ends all watches.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	reason := s.reaper.closeReason()
	for _, groups := range []*groupSet{&s.open, &s.full} {
		for _, g := range *groups {
			g.disarm()
			if ended := g.endAll(reason); reason == endClosed {
				s.reaper.closePool.add(ended)
			}
		}
		*groups = nil
	}
}

// openGroup returns a group with room.
func (s *shard) openGroup() *group {
	if n := len(s.open); n > 0 {
		return s.open[n-1]
	}
	g := &group{shard: s, due: never}
	s.open.add(g)
	return g
}

// place moves g to the right set after a change of its members. place keeps one empty group
// for the next watch.
func (s *shard) place(g *group) {
	if s.closed {
		return
	}
	set := &s.open
	switch g.n {
	case groupLen:
		set = &s.full
	case 0:
		g.disarm()
		if len(s.open) > 1 || g.set == &s.full && len(s.open) > 0 {
			set = nil
		}
	}
	if g.set == set {
		return
	}
	if g.set != nil {
		g.set.remove(g)
	}
	if set != nil {
		set.add(g)
	}
}

// groupSet is an unordered set of groups. Guarded by shard.mu.
type groupSet []*group

func (s *groupSet) add(g *group) {
	g.set, g.index = s, len(*s)
	*s = append(*s, g)
}

func (s *groupSet) remove(g *group) {
	last := len(*s) - 1
	moved := (*s)[last]
	(*s)[g.index], moved.index = moved, g.index
	(*s)[last] = nil
	*s = (*s)[:last]
	g.set = nil
}
