// Ported to Go from LeakPresenceDetector of the Netty Project, and changed.
// Copyright 2025 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Scope counts the open resources and reports them at the end. A Scope needs no garbage
// collection, so the count is exact. A Scope is meant for tests:
//
//	func TestPool(t *testing.T) {
//		leak.NewTestScope(t)
//		...
//
// A Scope counts the resources passed to Track, sampled or not, at every level. The detectors
// counted are those with the Scope in [Options] and, between Watch and Check, all detectors. A
// Scope keeps no resource alive. All methods are safe for concurrent use.
//
// The zero value is an empty scope without a name. Scope follows the LeakPresenceDetector
// of Netty 4.2.
type Scope struct {
	name string // Immutable after NewScope.

	mu    sync.Mutex
	open  map[*Tracker]int64 // values give the order of arrival. Guarded by mu.
	next  int64              // number of the next arrival. Guarded by mu.
	ended bool               // Guarded by mu.
}

// TestingT is the part of a [testing.TB] that scopes use.
type TestingT interface {
	Name() string
	Helper()
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// NewScope returns an empty scope. Failures contain the name.
func NewScope(name string) *Scope {
	return &Scope{name: name}
}

// NewTestScope returns a scope, named after the test, that counts the resources of all
// detectors until the test ends. The test then fails if a resource is still open. Call
// NewTestScope at the beginning of the test: NewTestScope registers the check with
// t.Cleanup, so the check runs after all deferred calls and all cleanups that are
// registered later.
//
// The scope also counts resources that other goroutines open. Do not use it in
// tests that run in parallel with others.
func NewTestScope(t TestingT) *Scope {
	scope := NewScope(t.Name()).Watch()
	t.Cleanup(func() {
		t.Helper()
		scope.Check(t)
	})
	return scope
}

// Watch makes the scope count the resources of all detectors of the process from
// now on, and returns the scope. The scope also counts resources that other
// goroutines open. Do not use it in tests that run in parallel with others.
func (s *Scope) Watch() *Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		watch(s)
	}
	return s
}

// Check ends the scope, and fails the test if a resource is still open. The failure
// names each open resource and its place of creation. An ended scope counts no new
// resources, but closed resources still leave it, so a later Check may pass.
//
// Do not defer Check in a test that closes resources in t.Cleanup: cleanups run after all
// deferred calls. Use NewTestScope instead.
func (s *Scope) Check(t TestingT) {
	t.Helper()
	s.end()
	if open := s.Reports(); len(open) > 0 {
		t.Errorf("leak: scope %q: %d open\n%s", s.name, len(open), join(open))
	}
}

// Reports describes the open resources, oldest first.
func (s *Scope) Reports() []Report {
	trackers := s.trackers()
	reports := make([]Report, len(trackers))
	for i, t := range trackers {
		reports[i] = t.report(s.name)
	}
	return reports
}

// trackers returns the trackers of the open resources, oldest first.
func (s *Scope) trackers() []*Tracker {
	s.mu.Lock()
	defer s.mu.Unlock()
	trackers := make([]*Tracker, 0, len(s.open))
	for t := range s.open {
		trackers = append(trackers, t)
	}
	slices.SortFunc(trackers, func(a, b *Tracker) int { return cmp.Compare(s.open[a], s.open[b]) })
	return trackers
}

func (s *Scope) enter(t *Tracker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := s.open[t]; in || s.ended {
		return
	}
	if s.open == nil {
		s.open = make(map[*Tracker]int64)
	}
	s.open[t] = s.next
	s.next++
}

func (s *Scope) leave(t *Tracker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
}

func (s *Scope) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	unwatch(s)
}

// join returns the distinct texts of reports, with counts.
func join(reports []Report) string {
	var texts []string
	counts := make(map[string]int)
	for _, r := range reports {
		text := r.String()
		if counts[text]++; counts[text] == 1 {
			texts = append(texts, text)
		}
	}
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "%d x %s", counts[text], text)
	}
	return b.String()
}
