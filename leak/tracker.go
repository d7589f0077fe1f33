// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"runtime"
	"sync/atomic"
)

// Ground rules of a Tracker.
//
// Who may touch what: the owner of the resource calls Record and Close from any
// goroutine; the runtime calls collected once, on a goroutine of its own, after
// the resource became unreachable; a Scope reads what a report needs.
//
//  1. A Tracker never refers to its resource: the runtime keeps the Tracker for
//     the cleanup, and whatever that reaches is never collected.
//  2. ended changes once, from false to true. If Close changes it, the resource
//     was released; if collected does, it leaked. So no resource is both, and
//     Close returns true at most once.
//  3. A Record that races with the end may be kept or not. It is never read.
//
// A race that this does not settle: if the owner drops its last reference to the
// resource before it calls Close, collected may come first, and its report is
// right. CloseFor keeps the resource reachable until then.

// Tracker watches one resource until it is released. Its methods are safe for
// concurrent use and never block; on a nil Tracker they do nothing.
//
// It is Netty's ResourceLeakTracker.
type Tracker struct {
	core     *core           // Immutable after Track.
	detailed bool            // reports whether records have stacks. Immutable after Track.
	scopes   []*Scope        // the scopes that count the resource. Immutable after Track.
	created  []uintptr       // where Track was called. Immutable after Track.
	cleanup  runtime.Cleanup // zero if only scopes track the resource. Immutable after Track; read by Close.
	records  trail           // Atomic: written by Record and Close, read by reports.
	ended    atomic.Bool     // Atomic: written once, by Close or collected, read by Record.
}

// Record notes an access to the resource for a report: the hint, unless it is
// nil, and at [LevelAdvanced] and above the place of the call. The last access is
// always kept; [Options].TargetRecords decides about the others.
//
// Record turns the hint into text at once and does not keep it, so the hint may
// change later and may refer to the resource. A hint of pointer type without a
// String or Error method is shown by its type only, since what it points to may
// be changing. A hint that panics does no harm and is shown as having panicked.
//
// On a nil Tracker it costs one comparison. Otherwise it prints the hint and
// makes one allocation; at LevelAdvanced and above it also captures the stack, with
// another allocation.
func (t *Tracker) Record(hint any) {
	if t != nil {
		t.record(hint)
	}
}

func (t *Tracker) record(hint any) {
	if t.ended.Load() || hint == nil && !t.detailed {
		return
	}
	r := &record{hint: textOf(hint)}
	if t.detailed {
		r.stack = capture(2)
	}
	t.records.add(r, t.core.targetRecords())
}

// Detailed reports whether records have stacks, which they have at [LevelAdvanced]
// and above. An owner with many cheap accesses can call it before each Record, so
// that [LevelSimple] adds nothing to them. It returns false on a nil Tracker.
func (t *Tracker) Detailed() bool { return t != nil && t.detailed }

// Close marks the resource as released. It returns true the first time, and
// false after that, if the resource was reported as leaked before, and on a nil
// Tracker.
//
// The resource must still be reachable, or the collector may have found it
// first. A method of the resource that uses it last in its call of Close does not
// ensure that. Use CloseFor, or call [runtime.KeepAlive] after Close.
func (t *Tracker) Close() bool {
	if t == nil || !t.ended.CompareAndSwap(false, true) { // Linearization point of Close.
		return false
	}
	t.cleanup.Stop()
	for _, s := range t.scopes {
		s.leave(t)
	}
	t.records.clear()
	return true
}

// CloseFor is like Close, and keeps resource, the pointer given to Track,
// reachable until it returns. Netty's close(trackedObject) has its argument for
// the same reason.
func (t *Tracker) CloseFor(resource any) bool {
	closed := t.Close()
	runtime.KeepAlive(resource)
	return closed
}

// collected is the cleanup, which runs when the resource of t was collected.
func collected(t *Tracker) {
	if t.ended.CompareAndSwap(false, true) { // Linearization point of the leak.
		t.core.leaked(t.report(""))
	}
}

// enter adds the resource to scopes.
func (t *Tracker) enter(scopes []*Scope) {
	for _, s := range scopes {
		s.enter(t)
	}
}
