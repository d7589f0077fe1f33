package inspect

import (
	"cmp"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

const (
	maxGroups   = 1000     // tasks, or callers, that a scan counts apart
	shownGroups = 20       // of them on the page, the largest
	others      = "others" // the name of the group of all the rest
)

// waiting is the result of a scan of a timer's pending timeouts.
type waiting struct {
	At    time.Time `json:"at"`
	Took  int64     `json:"took_ns"`
	Total int       `json:"total"`
	Never int       `json:"never"` // never expire
	Tasks []group   `json:"tasks"`
	Sites []group   `json:"sites,omitempty"`
	Next  []entry   `json:"next"`

	// Sampled reports that Next omits timeouts between those in the list.
	Sampled bool `json:"sampled"`
}

// group counts the timeouts of one task, or of one caller.
type group struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// entry is a pending timeout as JSON has it.
type entry struct {
	Deadline *time.Time `json:"deadline"` // null for a timeout that never expires
	Left     int64      `json:"left_ns"`
	Task     string     `json:"task"`
	Site     string     `json:"scheduled_at,omitempty"`
}

// lister is a timer that lists its pending timeouts.
type lister interface{ All() iter.Seq[hwt.Timeout] }

// all returns the pending timeouts of t; nil if it has no method for that.
func (t timer) all() iter.Seq[hwt.Timeout] {
	if l, ok := t.timer.(lister); ok {
		return l.All()
	}
	return nil
}

// waitingOn scans the pending timeouts of t. It returns false after stop.
func waitingOn(t timer, stop <-chan struct{}) (waiting, bool) {
	all := t.all()
	if all == nil {
		return waiting{}, false
	}
	w := waiting{At: time.Now()}
	var tasks groupCount[enginekit.TaskKey]
	var sites groupCount[place]
	next := newUpcoming(w.At)
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
		tasks.add(enginekit.KeyOf(what), func() string { return enginekit.TaskName(what) })
		if frame, ok := hwt.CallerOf(timeout); ok {
			sites.add(place{frame.File, frame.Line}, func() string { return siteOf(frame) })
		}
	}
	w.Tasks, w.Sites = tasks.largest(), sites.largest()
	list, sampled := next.sorted()
	w.Sampled = sampled
	for _, d := range list {
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

// entryOf describes a timeout with its deadline. The deadline is zero if the timeout never
// expires.
func entryOf(timeout hwt.Timeout, at time.Time) entry {
	e := entry{Task: enginekit.TaskName(timeout.Task())}
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

// place is a source line.
type place struct {
	file string
	line int
}

// siteOf names a call as enginekit.TaskName names a function.
func siteOf(f runtime.Frame) string {
	return fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line)
}

// groupCount counts timeouts by a key.
type groupCount[K comparable] struct {
	groups map[K]*group
	others int
}

// add counts a timeout under key. It calls name for the first one.
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

// largest returns the largest groups, with the rest as one group at the end.
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
