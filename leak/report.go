// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"cmp"
	"fmt"
	"strings"
)

// Report describes a resource that was not released. A Report refers neither to the
// resource nor to the detector.
type Report struct {
	Type          string // resource type, as passed to NewDetector
	ReleaseMethod string // method that was not called
	Scope         string // scope that found the resource open; "" if the collector found the leak

	Created Stack    // place of the call of Track
	Records []Record // recent accesses, newest first

	Discarded  int // accesses discarded because of Options.TargetRecords
	Duplicates int // accesses omitted because a newer one has the same text
}

// Record is one access to a resource.
type Record struct {
	Hint  string // the argument of Tracker.Record as text; "" for nil
	Stack Stack  // place of the access; nil below LevelAdvanced
}

// String returns the record as text: the hint, then the stack.
func (r Record) String() string {
	if r.Hint == "" {
		return r.Stack.String()
	}
	return "\tHint: " + r.Hint + "\n" + r.Stack.String()
}

// String returns the report as several lines of text, in Netty's layout: the method
// that was not called, the recent accesses, the place of creation, and the number of
// accesses not shown.
func (r Report) String() string {
	var b strings.Builder
	b.WriteString(r.headline() + "\n")
	if len(r.Records) > 0 {
		b.WriteString("Recent access records:\n")
	}
	for i, access := range r.Records {
		fmt.Fprintf(&b, "#%d:\n%v", i+1, access)
	}
	fmt.Fprintf(&b, "Created at:\n%v", r.Created)
	if r.Duplicates > 0 {
		fmt.Fprintf(&b, "Duplicate access records not shown: %d\n", r.Duplicates)
	}
	if r.Discarded > 0 {
		fmt.Fprintf(&b, "Access records discarded: %d (%s keeps more)\n", r.Discarded, envTargetRecords)
	}
	return b.String()
}

func (r Report) headline() string {
	before := "it was garbage-collected"
	if r.Scope != "" {
		before = fmt.Sprintf("the end of scope %q", r.Scope)
	}
	return fmt.Sprintf("LEAK: %s.%s() was not called before %s", r.Type, r.ReleaseMethod, before)
}

// report describes the resource. scope is "" if the resource was collected.
func (t *Tracker) report(scope string) Report {
	r := Report{
		Type:          t.core.resourceType,
		ReleaseMethod: cmp.Or(t.core.options.ReleaseMethod, "Close"),
		Scope:         scope,
		Created:       resolve(t.created),
	}
	r.take(t.records.newest.Load())
	return r
}

// take fills in the records from newest on and the numbers of omitted records.
func (r *Report) take(newest *record) {
	if newest == nil {
		return
	}
	r.Discarded = newest.discarded
	seen := make(map[string]bool, newest.kept)
	for at := newest; at != nil; at = at.older {
		access := Record{Hint: at.hint, Stack: resolve(at.stack)}
		if text := access.String(); seen[text] {
			r.Duplicates++
		} else {
			seen[text] = true
			r.Records = append(r.Records, access)
		}
	}
}
