package idle

import (
	"time"
	"unsafe"
)

// Internals for tests.
const (
	SizeOfWatch = unsafe.Sizeof(Watch{})
	SizeOfTCP   = unsafe.Sizeof(tcpConn{})
	SizeOfGroup = unsafe.Sizeof(group{})

	// The distance between the fields that a touch reads and the fields that other
	// goroutines write, in the same shard and to the next one.
	GapInShard = unsafe.Offsetof(shard{}.mu) - unsafe.Offsetof(shard{}.start) - unsafe.Sizeof(shard{}.start)
	GapToNext  = unsafe.Sizeof(shard{}) - unsafe.Offsetof(shard{}.counts) - unsafe.Sizeof(shard{}.counts)
)

// Backlog returns the length of the close pool's queue, including completed entries.
func Backlog(r *Reaper) int {
	r.closePool.mu.Lock()
	defer r.closePool.mu.Unlock()
	return len(r.closePool.queue)
}

// Latest returns the time of the last activity of w.
func Latest(w *Watch) time.Time { return w.shard.start.Add(time.Duration(w.state.last())) }

// Groups returns the number of groups of a reaper.
func Groups(r *Reaper) (n int) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += len(s.open) + len(s.full)
		s.mu.Unlock()
	}
	return n
}

// IsStream reports whether a write to c can be split into pieces.
var IsStream = isStream

// Scan runs the first half of a scan of w and returns the second half, which ends w.
func Scan(w *Watch) (end func() bool) {
	last := w.state.word.Load()
	_, reason := w.deadline(last)
	held := w.held()
	return func() bool { return !held && w.state.end(last, reason) }
}

// State lets tests run racing steps one by one.
type State = state

// StateAt returns the state of a watch whose last activity is last.
func StateAt(last int64) *State {
	s := &state{}
	s.word.Store(last)
	return s
}

func (s *state) TouchAt(now int64)       { s.touch(now) }
func (s *state) EndIdle(last int64) bool { return s.end(last, endIdle) }
func (s *state) EndStopped() bool        { return s.endAny(endStopped) }
func (s *state) Get() (last int64, idle, ended bool) {
	reason, ended := s.ended()
	return s.last(), ended && reason == endIdle, ended
}

// EndLate makes a scan examine the group of w that has read the clock at now, before the
// last activity.
func EndLate(w *Watch, last, now time.Duration) (events []Event) {
	w.state.touch(int64(last))
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	for _, e := range w.group.endExpired(int64(now)) {
		events = append(events, e.event())
	}
	return events
}
