package idle

import (
	"time"
	"unsafe"
)

// What tests see of the insides.
const (
	SizeOfWatch  = unsafe.Sizeof(Watch{})
	SizeOfTCP    = unsafe.Sizeof(tcpConn{})
	SizeOfCohort = unsafe.Sizeof(cohort{})

	// What a touch reads and what others write are that far apart, within a
	// shard and to the next one.
	GapInShard = unsafe.Offsetof(shard{}.mu) - unsafe.Offsetof(shard{}.start) - unsafe.Sizeof(shard{}.start)
	GapToNext  = unsafe.Sizeof(shard{}) - unsafe.Offsetof(shard{}.counts) - unsafe.Sizeof(shard{}.counts)
)

// Backlog returns how many victims a reaper's queue holds, done or not.
func Backlog(r *Reaper) int {
	r.closers.mu.Lock()
	defer r.closers.mu.Unlock()
	return len(r.closers.queue)
}

// Latest returns when the latest activity of w was.
func Latest(w *Watch) time.Time { return w.shard.start.Add(time.Duration(w.life.last())) }

// Cohorts returns how many cohorts a reaper has.
func Cohorts(r *Reaper) (n int) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += len(s.open) + len(s.full)
		s.mu.Unlock()
	}
	return n
}

// IsStream tells whether what is written to c may go in pieces.
var IsStream = isStream

// Life lets tests drive the word of a watch by hand.
type Life = life

// LifeAt returns a life whose latest activity is last.
func LifeAt(last int64) *Life {
	l := &life{}
	l.word.Store(last)
	return l
}

// TouchAt and those below are the steps that race.
func (l *life) TouchAt(now int64)       { l.touch(now) }
func (l *life) EndIdle(last int64) bool { return l.end(last, idled) }
func (l *life) EndReleased() bool       { return l.endAny(released) }
func (l *life) State() (last int64, idle, ended bool) {
	h, ended := l.ended()
	return l.last(), ended && h == idled, ended
}
