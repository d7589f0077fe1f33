package idle

import "unsafe"

// What tests see of the insides.
const (
	SizeOfWatch  = unsafe.Sizeof(Watch{})
	SizeOfTCP    = unsafe.Sizeof(tcpConn{})
	SizeOfCohort = unsafe.Sizeof(cohort{})
)

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
