package runtimetimer

import "github.com/hashedwheel/hwt"

// How many entries an iteration passes while it holds a shard's mu: few at first, so
// that a short look is cheap.
const (
	minBatch = 16
	maxBatch = 1024
)

// all yields the pending timeouts until yield returns false, which it returns then.
// batch is room that it may use.
//
// Two bookmarks hold its place in the list: how far it came, and where the list
// ended when it began. An entry keeps its place as long as its timeout is pending, so
// each comes once, and what others add or remove does not matter.
func (s *shard) all(batch *[]*timeout, yield func(hwt.Timeout) bool) bool {
	at, end := new(entry), new(entry)
	s.open(at, end)
	defer s.close(at, end)
	for n := minBatch; s.turn(at, end, n, batch); n = min(2*n, maxBatch) {
		for _, t := range *batch {
			if t.load().is(pending) && !yield(t) {
				return false
			}
		}
		clear(*batch)
	}
	return true
}

// open puts the bookmarks at the ends of the list.
func (s *shard) open(at, end *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.linkBefore(s.pending.next)
	end.linkBefore(&s.pending)
}

func (s *shard) close(at, end *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.unlink()
	end.unlink()
}

// turn moves the bookmark at past n entries, or to end, and puts their timeouts into
// batch. It returns false if there are no entries.
func (s *shard) turn(at, end *entry, n int, batch *[]*timeout) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := at.next
	if e == end {
		return false
	}
	*batch = (*batch)[:0]
	for ; e != end && n > 0; n-- {
		if e.timeout != nil {
			*batch = append(*batch, e.timeout)
		}
		e = e.next
	}
	at.unlink()
	at.linkBefore(e)
	return true
}
