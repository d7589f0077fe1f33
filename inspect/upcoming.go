package inspect

import (
	"container/heap"
	"sort"
	"time"

	"github.com/hashedwheel/hwt"
)

// The list of the timeouts that are due next must last until the next scan, even if thousands
// expire per second until that scan. The list holds the first timeouts and, after them, a few
// of each later slot of time.
const (
	firstNext = 40
	slotSpan  = 250 * time.Millisecond
	slots     = 32 // more than two pauses between scans
	perSlot   = 5
)

// upcoming selects the timeouts for the list from all pending ones.
type upcoming struct {
	start time.Time
	first earliest
	slots [slots]earliest
}

func newUpcoming(start time.Time) *upcoming {
	u := &upcoming{start: start, first: earliest{n: firstNext}}
	for i := range u.slots {
		u.slots[i].n = perSlot
	}
	return u
}

func (u *upcoming) add(at time.Time, timeout hwt.Timeout) {
	u.first.add(at, timeout)
	if i := at.Sub(u.start) / slotSpan; i >= 0 && i < slots {
		u.slots[i].add(at, timeout)
	}
}

// sorted returns the selected timeouts, the earliest first, and whether it skipped any
// within the slots.
func (u *upcoming) sorted() (all []due, sampled bool) {
	all = u.first.sorted()
	if len(all) < firstNext {
		return all, false
	}
	last := all[len(all)-1].at
	for i := range u.slots {
		kept := u.slots[i].sorted()
		sampled = sampled || len(kept) == perSlot
		for _, d := range kept {
			if d.at.After(last) {
				all = append(all, d)
			}
		}
	}
	return all, sampled
}

// due is a timeout with its deadline. The deadline is zero if the timeout never expires.
type due struct {
	at      time.Time
	timeout hwt.Timeout
}

// earliest keeps the n timeouts with the earliest deadlines, in a heap with the latest
// deadline on top.
type earliest struct {
	n   int
	due []due
}

// add keeps the timeout if the deadline is among the n earliest so far. add takes O(log n)
// time.
func (e *earliest) add(at time.Time, timeout hwt.Timeout) {
	switch {
	case len(e.due) < e.n:
		heap.Push(e, due{at, timeout})
	case before(at, e.due[0].at):
		e.due[0] = due{at, timeout}
		heap.Fix(e, 0)
	}
}

// sorted returns the kept timeouts, the earliest first.
func (e *earliest) sorted() []due {
	sort.Sort(sort.Reverse(e))
	return e.due
}

// before reports whether deadline a is before b.
func before(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// Len implements heap.Interface.
func (e *earliest) Len() int { return len(e.due) }

// Less implements heap.Interface.
func (e *earliest) Less(i, j int) bool { return before(e.due[j].at, e.due[i].at) }

// Swap implements heap.Interface.
func (e *earliest) Swap(i, j int) { e.due[i], e.due[j] = e.due[j], e.due[i] }

// Push implements heap.Interface.
func (e *earliest) Push(x any) { e.due = append(e.due, x.(due)) }

// Pop implements heap.Interface. The heap never calls it.
func (e *earliest) Pop() any {
	last := e.due[len(e.due)-1]
	e.due = e.due[:len(e.due)-1]
	return last
}
