package inspect

import (
	"cmp"
	"container/heap"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
)

const (
	// maxGroups is how many tasks, or places, are distinguished; the rest is
	// counted together.
	maxGroups = 1000

	// shownGroups is how many of these the page gets, the largest.
	shownGroups = 20

	// shownNext is how many of the timeouts that are due next the page gets.
	shownNext = 100
)

// others is the name of what is not distinguished.
const others = "others"

// waiting is what is pending on a timer.
type waiting struct {
	At    time.Time `json:"at"`
	Took  int64     `json:"took_ns"`
	Total int       `json:"total"`
	Never int       `json:"never"` // due never
	Tasks []group   `json:"tasks"`
	Sites []group   `json:"sites,omitempty"`
	Next  []entry   `json:"next"`
}

// group is how many timeouts have something in common.
type group struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// entry is a pending timeout as JSON has it.
type entry struct {
	Deadline *time.Time `json:"deadline"` // null if it never comes
	Left     int64      `json:"left_ns"`
	Task     string     `json:"task"`
	Site     string     `json:"scheduled_at,omitempty"`
}

// all returns the pending timeouts of t; nil if it has no method for that.
func (t timer) all() iter.Seq[hwt.Timeout] {
	if a, ok := t.timer.(interface{ All() iter.Seq[hwt.Timeout] }); ok {
		return a.All()
	}
	return nil
}

// waitingOn looks at all that is pending on t, until stop.
func waitingOn(t timer, stop <-chan struct{}) (waiting, bool) {
	all := t.all()
	if all == nil {
		return waiting{}, false
	}
	w := waiting{At: time.Now()}
	var tasks groupCount[taskKey]
	var sites groupCount[place]
	next := earliest{n: shownNext}
	for timeout := range all {
		if w.Total++; w.Total%1024 == 0 && isDone(stop) {
			return waiting{}, false
		}
		deadline := timeout.Deadline()
		if deadline.IsZero() {
			w.Never++
		} else {
			next.add(deadline, timeout)
		}
		what := timeout.Task()
		tasks.add(keyOf(what), func() string { return task.Name(what) })
		if frame, ok := hwt.CallerOf(timeout); ok {
			sites.add(place{frame.File, frame.Line}, func() string { return siteOf(frame) })
		}
	}
	w.Tasks, w.Sites = tasks.largest(), sites.largest()
	for _, d := range next.sorted() {
		w.Next = append(w.Next, entryOf(d.timeout, d.at))
	}
	w.Took = int64(time.Since(w.At))
	return w, true
}

func isDone(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// entryOf describes a timeout that is due at a time, or never if that is zero.
func entryOf(timeout hwt.Timeout, at time.Time) entry {
	e := entry{Task: task.Name(timeout.Task())}
	if !at.IsZero() {
		e.Left = int64(time.Until(at))
		wall := at.Round(0)
		e.Deadline = &wall
	}
	if frame, ok := hwt.CallerOf(timeout); ok {
		e.Site = siteOf(frame)
	}
	return e
}

// place is a line of the source.
type place struct {
	file string
	line int
}

// siteOf names a call as task.Name names a function.
func siteOf(f runtime.Frame) string {
	return fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line)
}

// taskKey distinguishes tasks: by their types, and functions by their code.
type taskKey struct {
	of reflect.Type
	pc uintptr
}

func keyOf(t hwt.TimerTask) taskKey {
	k := taskKey{of: reflect.TypeOf(t)}
	if k.of.Kind() == reflect.Func {
		k.pc = reflect.ValueOf(t).Pointer()
	}
	return k
}

// groupCount counts timeouts by a key.
type groupCount[K comparable] struct {
	groups map[K]*group
	others int
}

// add counts a timeout under key. name is called for the first one.
func (t *groupCount[K]) add(key K, name func() string) {
	g := t.groups[key]
	switch {
	case g != nil:
		g.Count++
	case len(t.groups) == maxGroups:
		t.others++
	default:
		if t.groups == nil {
			t.groups = make(map[K]*group)
		}
		t.groups[key] = &group{Name: name(), Count: 1}
	}
}

// largest returns the largest groups, and the rest as one.
func (t *groupCount[K]) largest() []group {
	all := make([]group, 0, len(t.groups))
	for _, g := range t.groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b group) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	rest := t.others
	for len(all) > shownGroups {
		rest += all[len(all)-1].Count
		all = all[:len(all)-1]
	}
	if rest > 0 {
		all = append(all, group{others, rest})
	}
	return all
}

// due is a timeout and when it is due.
type due struct {
	at      time.Time
	timeout hwt.Timeout
}

// earliest keeps the n timeouts of many that are due first. It is a heap with the
// latest of them on top.
type earliest struct {
	n   int
	due []due
}

// add takes a timeout into account.
func (e *earliest) add(at time.Time, timeout hwt.Timeout) {
	switch {
	case len(e.due) < e.n:
		heap.Push(e, due{at, timeout})
	case at.Before(e.due[0].at):
		e.due[0] = due{at, timeout}
		heap.Fix(e, 0)
	}
}

// sorted returns those that are kept, the first one first.
func (e *earliest) sorted() []due {
	slices.SortFunc(e.due, func(a, b due) int { return a.at.Compare(b.at) })
	return e.due
}

// Len implements heap.Interface.
func (e *earliest) Len() int { return len(e.due) }

// Less implements heap.Interface.
func (e *earliest) Less(i, j int) bool { return e.due[i].at.After(e.due[j].at) }

// Swap implements heap.Interface.
func (e *earliest) Swap(i, j int) { e.due[i], e.due[j] = e.due[j], e.due[i] }

// Push implements heap.Interface.
func (e *earliest) Push(x any) { e.due = append(e.due, x.(due)) }

// Pop implements heap.Interface, and is not used.
func (e *earliest) Pop() any {
	last := e.due[len(e.due)-1]
	e.due = e.due[:len(e.due)-1]
	return last
}
