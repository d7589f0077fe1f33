package runtimetimer

import "github.com/hashedwheel/hwt"

// The number of entries that an iteration passes under a shard's mu. It starts small,
// so that a short loop is cheap.
const (
	minBatch = 16
	maxBatch = 1024
)

// all yields the pending timeouts. It returns false if yield did. batch is scratch
// space.
//
// Two bookmarks in the list mark the progress of all and the end of the list at the
// beginning. An entry keeps its place while the timeout is pending, so all passes each
// entry once whatever others add or remove.
func (s *shard) all(batch *[]*timeout, yield func(hwt.Timeout) bool) bool {
	at, end := new(entry), new(entry)
	s.open(at, end)
	defer s.close(at, end)
	for n := minBatch; s.turn(at, end, n, batch); n = min(2*n, maxBatch) {
		for _, t := range *batch {
			if t.isPending() && !yield(t.handle()) {
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

// turn moves the bookmark at past n entries, or to end, and collects the timeouts in batch.
// turn returns false after the last entry.
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
